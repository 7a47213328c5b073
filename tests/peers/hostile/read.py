"""Opens files with a Python package, the first argument: a path a line on stdin, a verdict a line on stdout."""

import sys


def safetensors(path):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        for name in file.keys():
            file.get_tensor(name)


def gguf(path):
    from gguf import GGUFReader

    reader = GGUFReader(path)
    for field in reader.fields.values():
        field.contents()
    for tensor in reader.tensors:
        tensor.data.sum()


def sentencepiece(path):
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=path)
    model.decode(model.encode("Hello world, a b c 123"))


def tokenizers(path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.decode(tokenizer.encode("Hello world, a b c 123").ids)


def verdict(read, path):
    try:
        read(path)
        return "accepted"
    except MemoryError:
        return "memory"
    except Exception as error:
        return f"error {type(error).__name__}: {error}"
    except BaseException as error:  # what pyo3 makes of a panic
        return f"panic {error}"


def main():
    read = {reader.__name__: reader for reader in [safetensors, gguf, sentencepiece, tokenizers]}[sys.argv[1]]
    for line in sys.stdin:
        print(verdict(read, line.rstrip("\n")).replace("\n", " "), flush=True)


main()
