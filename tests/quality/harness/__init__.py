"""Measures `nanoembed search` on gold sets.

| module | role |
|---|---|
| `metrics` | figures of a ranking |
| `program` | runs the program |
| `systems` | models in precisions, which the program converts |
| `corpora` | passages as files that are searched |
| `searches` | asks questions, in each mode |
| `progress` | what is measured at the moment, on stderr |
| `runs` | rankings of a set's questions, kept in the cache |
| `report` | tables and JSON |
"""
