"""How fast `sentencepiece` encodes the lines of a text, one thread: `sentencepiece_speed.py MODEL TEXT`.

    pip install sentencepiece==0.2.3

The best of 7 rounds of CPU time, in MB/s; `cargo bench -p nanoembed-tests --bench tokenizer` says the same of this project with
NANOEMBED_BENCH_TEXT and NANOEMBED_BENCH_SENTENCEPIECE.
"""

import sys
import time

import sentencepiece

model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
with open(sys.argv[2], encoding="utf-8", newline="") as file:
    lines = file.read().split("\n")
size = sum(len(line.encode()) for line in lines)
ways = {
    "one by one": lambda: [model.encode(line) for line in lines],
    "all at once": lambda: model.encode(lines, num_threads=1),
}
for way, encode in ways.items():
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        encode()
        best = min(best, time.process_time() - start)
    print(f"{way}: {size / 1e6 / best:.1f} MB/s")
