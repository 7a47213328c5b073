#!/usr/bin/env python3
"""Makes words.fifu (plain) and words.pq.fifu (product-quantised): a small vocabulary with fastText n-grams, where words
that share n-grams have similar vectors. Needs numpy.

    python3 make_words.py
"""

import struct

import numpy

WORDS = """and the of to in is that for it with as was on are by this be at from or an have not they which one you had but all
compute computer computers computing computation compiler compile compiled memory memories remember remembered storage store
stored stores embed embedded embedding embeddings vector vectors vectorize model models modelling modeled token tokens tokenize
tokenizer word words wording sentence sentences text texts textual language languages linguistic read reads reader reading
write writes writer writing written search searches searched searching find finds finding found similar similarity similarities
near nearer nearest neighbour neighbours neighbourhood light lights lighter lighting night nights nightly right rights rightly
house houses housing household horse horses run runs runner running walk walks walker walking talk talks talker talking
play plays player playing played paint paints painter painting garden gardens gardener gardening teach teaches teacher
teaching taught learn learns learner learning learned quick quicker quickest quickly slow slower slowest slowly warm warmer
warmest warmly cold colder coldest coldly device devices sensor sensors sensing microcontroller controller control controls
controlled quantize quantized quantization quantity quantities number numbers numbered numeric""".split()
BUCKETS, MIN_N, MAX_N, COLS, CODES, CENTROIDS = 512, 3, 6, 32, 8, 64


def fasttext_hash(ngram):
    value = 0x811C9DC5
    for byte in ngram.encode():
        extended = byte if byte < 128 else byte | 0xFFFFFF00
        value = (value ^ extended) * 0x01000193 & 0xFFFFFFFF
    return value


def ngrams(word):
    word = f"<{word}>"
    for start in range(len(word)):
        for size in range(MIN_N, MAX_N + 1):
            if start + size <= len(word) and not (size == 1 and start in (0, len(word) - 1)):
                yield word[start : start + size]


def quantize(rows, random):
    """Centroids [codes, centroids, cols / codes] by a few rounds of Lloyd's algorithm, and codes."""
    part = COLS // CODES
    centroids = numpy.zeros((CODES, CENTROIDS, part), numpy.float32)
    codes = numpy.zeros((len(rows), CODES), numpy.uint8)
    for s in range(CODES):
        data = rows[:, s * part : (s + 1) * part]
        centres = data[random.choice(len(data), CENTROIDS, replace=False)].copy()
        for _ in range(20):
            nearest = ((data[:, None] - centres[None]) ** 2).sum(2).argmin(1)
            for c in range(CENTROIDS):
                if (nearest == c).any():
                    centres[c] = data[nearest == c].mean(0)
        centroids[s], codes[:, s] = centres, nearest
    return centroids, codes


def chunk(identifier, payload):
    return struct.pack("<IQ", identifier, len(payload)) + payload


def padded(before, fields, data):
    """A payload whose data begins at a multiple of four; always one to four bytes of padding."""
    position = len(before) + 12 + len(fields)
    return fields + bytes(4 - position % 4) + data


def main():
    random = numpy.random.default_rng(7)
    buckets = random.normal(size=(BUCKETS, COLS)).astype(numpy.float32) * 0.3
    words = []
    for word in WORDS:
        vector = sum(buckets[fasttext_hash(n) % BUCKETS] for n in ngrams(word)) + random.normal(size=COLS) * 0.05
        words.append(vector / numpy.linalg.norm(vector))
    rows = numpy.concatenate([numpy.array(words, numpy.float32), buckets])
    strings = b"".join(struct.pack("<I", len(w)) + w.encode() for w in WORDS)
    vocabulary = chunk(7, struct.pack("<QIII", len(WORDS), MIN_N, MAX_N, BUCKETS) + strings)

    plain = b"FiFu" + struct.pack("<IIII", 0, 2, 7, 2) + vocabulary
    plain += chunk(2, padded(plain, struct.pack("<QII", len(rows), COLS, 10), rows.tobytes()))
    open("words.fifu", "wb").write(plain)

    centroids, codes = quantize(rows, random)
    quantized = b"FiFu" + struct.pack("<IIII", 0, 2, 7, 4) + vocabulary
    fields = struct.pack("<IIIIIQII", 0, 0, CODES, COLS, CENTROIDS, len(rows), 1, 10)
    quantized += chunk(4, padded(quantized, fields, centroids.tobytes() + codes.tobytes()))
    open("words.pq.fifu", "wb").write(quantized)


main()
