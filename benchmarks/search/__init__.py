"""Tuners that the search is compared with, and what is made of their runs."""
