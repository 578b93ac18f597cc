"""Does a kernel's result depend on a parameter? The parts behind `analysis.performance_tiles`.

`polynomial` holds index arithmetic, `twins` tells what varies with the parameter, `facts` what
is noted of a value, `places` reads blocks out of addresses, `folds` reads what a loop does to the
values that it carries, and `interpreter` walks the program.
"""
