"""stiffarm: calibrate the geometry and the elasticity of robot arms, and make use of it."""

__version__ = "0.1.0"
