"""onnxruntime (its Python package, CPU) on an ONNX file. Speaks the benchmark's protocol (../README.md)."""

import numpy as np
import onnxruntime as ort
from protocol import serve, timed

MAX_TEXTS_PER_BATCH = 32  # sentence-transformers' default


def open_session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def prepare(session, texts):
    """Texts sorted by length, 32 a batch, each padded to its longest, as sentence-transformers does."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    batches = []
    for start in range(0, len(order), MAX_TEXTS_PER_BATCH):
        chosen = order[start : start + MAX_TEXTS_PER_BATCH]
        lengths = np.array([len(texts[i]) for i in chosen])
        ids = np.zeros((len(chosen), lengths.max()), np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(chosen):
            ids[row, : lengths[row]] = texts[text]
            mask[row, : lengths[row]] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {given.name: feed[given.name] for given in session.get_inputs()}
        padded = bool((lengths != lengths[0]).any())
        batches.append((chosen, feed, mask[:, :, None].astype(np.float32) if padded else None))
    return batches


def embed(session, batches):
    width = session.get_outputs()[0].shape[-1]
    vectors = np.empty((sum(len(chosen) for chosen, _, _ in batches), width), np.float32)
    for chosen, feed, mask in batches:
        (hidden,) = session.run(["last_hidden_state"], feed)
        # The mean's divisor cancels in the normalisation.
        pooled = hidden.sum(1) if mask is None else (hidden * mask).sum(1)
        vectors[chosen] = pooled / np.sqrt((pooled * pooled).sum(1, keepdims=True))
    return vectors


def run(session, texts, warm, runs, vectors):
    batches = prepare(session, texts)
    times, result = timed(lambda: embed(session, batches), warm, runs)
    return {**times, "vectors": result.tolist() if vectors and result is not None else None}


serve(open_session, run)
