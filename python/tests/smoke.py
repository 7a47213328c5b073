"""Prints what identifies the vectors of a few texts: the same in every version of Python."""

import hashlib

import nanoembed

vectors = nanoembed.Model().embed(["How do I log in again?", "Füße 你好", ""])
assert vectors.shape == (3, 384), vectors.shape
print(hashlib.sha256(vectors.tobytes()).hexdigest())
