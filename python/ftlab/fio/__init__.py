"""Job files of fio: read, carried out on a simulated drive, and reported as fio reports."""
