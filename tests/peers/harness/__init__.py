"""The benchmark against peers; `bench.py` is the command, `README.md` the explanation."""
