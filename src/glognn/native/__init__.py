"""Training on a CPU by compiled code: optional, built at installation, and checked against the PyTorch path."""
