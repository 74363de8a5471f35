"""What instruments report: observations, noise, campaigns read, checked and written, virtual experiments."""
