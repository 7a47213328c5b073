"""Settings by chance, for each family those that its models may have."""

from common import choose

OF_BERT = ["gelu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh"]


def rope(rng, head, positions, kinds=("default", "default", "linear", "yarn", "dynamic")):
    kind = rng.choice(kinds)
    said = {"rope_type": kind, "rope_theta": rng.choice([10000.0, 1e6, 500.0])}
    if kind in ("linear", "dynamic", "yarn"):
        said["factor"] = rng.choice([2.0, 4.0])
    if kind == "yarn":
        said["original_max_position_embeddings"] = positions // 2
        said.update(rng.choice([{}, {"beta_fast": 16, "beta_slow": 2}, {"attention_factor": 1.3},
                                {"mscale": 0.7, "mscale_all_dim": 1.0}, {"truncate": False}]))
    if kind == "llama3":
        said.update(factor=8.0, low_freq_factor=1.0, high_freq_factor=rng.choice([2.0, 4.0]),
                    original_max_position_embeddings=positions // 4)
    if kind == "longrope":
        said.update(short_factor=[1.0 + 0.1 * at for at in range(head // 2)],
                    long_factor=[2.0 + 0.3 * at for at in range(head // 2)],
                    original_max_position_embeddings=positions // 4)
    return said


def layers(rng, count):
    kinds = ["full_attention", "sliding_attention"]
    return rng.choice([[kinds[0]] * count, [kinds[1]] * count, [rng.choice(kinds) for _ in range(count)],
                       [kinds[at % 2] for at in range(count)]])


def of_bert(rng):
    return choose(rng, hidden_act=OF_BERT, layer_norm_eps=[1e-12, 1e-5, 1e-3], type_vocab_size=[1, 2, 3],
                  num_attention_heads=[3, 4, 6], num_hidden_layers=[1, 2, 3], intermediate_size=[40, 64],
                  max_position_embeddings=[None, 96, 130], is_decoder=[None, False])


def of_llama(rng, positions=128, **kinds):
    heads, head = rng.choice([4, 6, 8]), rng.choice([8, 12, 16])
    shared = rng.choice([count for count in (1, 2, heads) if heads % count == 0])
    return {
        "num_attention_heads": heads, "num_key_value_heads": shared, "head_dim": head,
        "max_position_embeddings": positions, "rope_parameters": rope(rng, head, positions, **kinds),
        **choose(rng, num_hidden_layers=[1, 2, 3, 4], intermediate_size=[40, 64], rms_norm_eps=[1e-6, 1e-5, 1e-3],
                 attention_bias=[None, False, True], tie_word_embeddings=[None, True, False],
                 hidden_act=[None, "silu", "swish"]),
    }


def modernbert(rng):
    chosen = choose(rng, hidden_activation=["gelu", "gelu", "gelu_pytorch_tanh", "relu"], norm_bias=[False, True],
                    attention_bias=[False, True], mlp_bias=[False, True], local_attention=[4, 7, 8, 16],
                    norm_eps=[1e-5, 1e-3], num_attention_heads=[4, 6], intermediate_size=[40, 64],
                    num_hidden_layers=[1, 2, 3, 4, 5])
    how = rng.random()
    if how < 0.4:
        chosen["global_attn_every_n_layers"] = rng.choice([1, 2, 3, 4])
    elif how < 0.8:
        chosen["layer_types"] = layers(rng, chosen["num_hidden_layers"])
    if rng.random() < 0.4:
        chosen["rope_parameters"] = {
            "full_attention": {"rope_type": "default", "rope_theta": rng.choice([160000.0, 5000.0])},
            "sliding_attention": {"rope_type": "default", "rope_theta": rng.choice([10000.0, 300.0])},
        }
    return chosen


def gemma(rng, **kinds):
    chosen = of_llama(rng, **kinds)
    chosen.pop("hidden_act", None)
    chosen.update(choose(rng, query_pre_attn_scalar=[None, 256, 64, 12], sliding_window=[None, 5, 8, 16, 512]))
    how = rng.random()
    if how < 0.3:
        chosen["sliding_window_pattern"] = rng.choice([1, 2, 3, 6])
    elif how < 0.8:
        chosen["layer_types"] = layers(rng, chosen["num_hidden_layers"])
    # transformers does not read this within settings by layer.
    chosen["rope_parameters"].pop("truncate", None)
    local = {"rope_type": "default", "rope_theta": rng.choice([10000.0, 777.0])}
    chosen["rope_parameters"] = {"full_attention": chosen["rope_parameters"], "sliding_attention": local}
    return chosen


def qwen(rng, **kinds):
    chosen = of_llama(rng, **kinds)
    chosen.update(choose(rng, use_sliding_window=[None, False, True], sliding_window=[5, 8, 40, 4096],
                         max_window_layers=[None, 0, 1, 2]))
    if chosen.get("use_sliding_window") and rng.random() < 0.4:
        chosen["layer_types"] = layers(rng, chosen["num_hidden_layers"])
    return chosen


def half_turned(rng, **further):
    chosen = choose(rng, num_attention_heads=[4, 6], layer_norm_eps=[1e-12, 1e-5], num_hidden_layers=[1, 2, 3], **further)
    if rng.random() < 0.6:
        chosen["rope_parameters"] = rope(rng, 48 // chosen["num_attention_heads"], 128)
    return chosen


ENCODERS = {
    "bert_cased": of_bert,
    "xlmr_bge_m3": of_bert,
    "roberta": of_bert,
    "distilbert": lambda rng: choose(rng, activation=["gelu", "relu", "gelu_new"], sinusoidal_pos_embds=[None, True, False],
                                     n_heads=[4, 6], n_layers=[1, 2, 3], hidden_dim=[40, 64]),
    "mpnet": lambda rng: choose(rng, hidden_act=OF_BERT, num_attention_heads=[4, 6], layer_norm_eps=[1e-12, 1e-5],
                                pad_token_id=[0, 1, 2]),
    "nomic_bert": lambda rng: half_turned(rng, hidden_act=["silu", "gelu", "swish"], type_vocab_size=[1, 2, 3]),
    "jina_v3": lambda rng: half_turned(rng, hidden_act=["gelu", "relu", "gelu_new"], type_vocab_size=[1, 2]),
    "modernbert_mean": modernbert,
    "embeddinggemma": lambda rng: {**gemma(rng), **choose(rng, use_bidirectional_attention=[None, True, True, False])},
    "qwen3_embedding": qwen,
    "eurobert": lambda rng: {key: value for key, value in of_llama(rng).items() if key != "head_dim"},
}


def in_old_spelling(config):
    """Rotary settings as versions before 5 of transformers write them, where those have words for them."""
    said = config.get("rope_parameters")
    if not said:
        return
    full, local = said.get("full_attention", said), said.get("sliding_attention")
    full, family = dict(full), config["model_type"]
    if local is not None:
        if local.get("rope_type", "default") != "default":
            return
        if family == "modernbert":
            if full.get("rope_type", "default") == "default":
                del config["rope_parameters"]
                config.update(global_rope_theta=full["rope_theta"], local_rope_theta=local["rope_theta"])
            return
        config["rope_local_base_freq"] = local["rope_theta"]
    del config["rope_parameters"]
    config["rope_theta"] = full.pop("rope_theta")
    if full.get("rope_type", "default") != "default":
        config["rope_scaling"] = full
