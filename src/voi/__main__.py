"""`python -m voi`, and so `torchrun -m voi`."""

from voi.cli import main

main()
