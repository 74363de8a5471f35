"""What moves and what bends: parameters, the kernel of frames and columns, effects, statics."""
