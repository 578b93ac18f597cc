"""One small adapter per Triton flavour. The adapters import Triton when they are made."""
