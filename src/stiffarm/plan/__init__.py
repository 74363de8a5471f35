"""Which experiments to do next: criteria, candidates, exchange, and the bound they are held against."""
