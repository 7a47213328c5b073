"""MiniLM's safetensors as GGUF files of llama.cpp's `bert` architecture: f32 and q8_0."""

import gguf
import numpy as np
from gguf import GGMLQuantizationType, LlamaFileType
from safetensors.numpy import load_file

LAYERS = 6
TYPES = {
    "f32": (GGMLQuantizationType.F32, LlamaFileType.ALL_F32),
    "q8_0": (GGMLQuantizationType.Q8_0, LlamaFileType.MOSTLY_Q8_0),
}
# The names are llama.cpp's; what is not a matrix product's weight stays f32, as its converter has it.
EMBEDDINGS = {
    "token_embd.weight": "word_embeddings.weight",
    "position_embd.weight": "position_embeddings.weight",
    "token_types.weight": "token_type_embeddings.weight",
    "token_embd_norm.weight": "LayerNorm.weight",
    "token_embd_norm.bias": "LayerNorm.bias",
}
LAYER = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
KEPT_F32 = ("position_embd.weight", "token_types.weight")


def tensors(weights):
    """GGUF name → array."""
    named = {name: weights[f"embeddings.{source}"] for name, source in EMBEDDINGS.items()}
    for i in range(LAYERS):
        for name, source in LAYER.items():
            for part in ("weight", "bias"):
                named[f"blk.{i}.{name}.{part}"] = weights[f"encoder.layer.{i}.{source}.{part}"]
    return named


def add_metadata(writer, file_type, vocabulary):
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(384)
    writer.add_feed_forward_length(1536)
    writer.add_head_count(12)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(file_type)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("bert-bge")
    writer.add_token_type_count(2)
    special = [t.startswith("[") and t.endswith("]") and len(t) > 2 for t in vocabulary]
    # llama.cpp marks the start of a word, WordPiece its continuation.
    writer.add_token_list(
        [t if s else t[2:] if t.startswith("##") else "\u2581" + t for t, s in zip(vocabulary, special)]
    )
    writer.add_token_types([gguf.TokenType.CONTROL if s else gguf.TokenType.NORMAL for s in special])
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(100)
    writer.add_bos_token_id(101)
    writer.add_eos_token_id(102)
    writer.add_sep_token_id(102)
    writer.add_mask_token_id(103)


def export(model_folder, out):
    """Writes `minilm-{f32,q8_0}.gguf` to the folder `out`."""
    named = tensors(load_file(model_folder / "model.safetensors"))
    vocabulary = (model_folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = [line for line in vocabulary if line]
    out.mkdir(parents=True, exist_ok=True)
    for tag, (kind, file_type) in TYPES.items():
        writer = gguf.GGUFWriter(str(out / f"minilm-{tag}.gguf"), "bert")
        add_metadata(writer, file_type, vocabulary)
        for name, array in named.items():
            if array.ndim == 2 and name not in KEPT_F32 and kind != GGMLQuantizationType.F32:
                writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
            else:
                writer.add_tensor(name, array.astype(np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
