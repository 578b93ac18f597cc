"""What one traced program does, counted: the accesses, dots, arithmetic and loops of its graph."""
