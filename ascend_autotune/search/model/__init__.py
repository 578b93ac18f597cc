"""The cost model: a prior from the kernel's work, and what the measured times make of it."""
