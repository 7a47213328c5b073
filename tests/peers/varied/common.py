"""What all comparisons share: where things lie, running the program, models with weights by chance, the count."""

import collections
import json
import logging
import os
import pathlib
import shutil
import subprocess
import traceback
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "models"
TEXTS = [
    "How do I reset my password?",
    "a",
    "The quick brown fox jumps over the lazy dog, and then it sleeps for a very long time in the warm sun.",
    "Ünïcödé — naïve café, 東京タワー and 123,456.78!",
    "  spaces   and\ttabs\n",
    "x" * 40 + " y " * 30,
    "",
    "a [PAD] b [CLS] c <s> </s> [SEP] <mask> [MASK] <|endoftext|> d <eos><bos>",
]


class Other(Exception):
    """Other values than those of the peer."""


class Refused(Exception):
    """The program refuses the model."""


class NotTheirs(Exception):
    """The peer cannot make or run the model."""


class Program:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def lines(self, command, rows=None):
        """The JSON lines that a command prints for rows of input."""
        text = None if rows is None else "".join(json.dumps(row) + "\n" for row in rows)
        done = subprocess.run([self.path, *map(str, command)], input=text, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise Refused(" ".join(done.stderr.split()))
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def rows(self, command, model, rows):
        return self.lines([*command, "--model", model, "--input", "jsonl", "--format", "jsonl", "--quiet"], rows)

    def converted(self, folder, ending):
        """The file of another format that a folder becomes; None if it is refused."""
        out = folder.parent / f"converted.{ending}"
        try:
            self.lines(["convert", folder, out, "--quiet"])
        except Refused:
            return None
        return out


def theirs(make):
    """What a peer makes; a model that it cannot make or run is none to compare."""
    try:
        return make()
    except Exception as error:
        raise NotTheirs(f"{type(error).__name__}: {error}") from error


def settings_of(family):
    """The `config.json` of a family's model, without what transformers writes anew."""
    config = json.loads((MODELS / family / "config.json").read_text())
    for key in ("architectures", "auto_map", "dtype", "head_dim", "id2label", "label2id", "layer_types", "rope_scaling",
                "sentence_transformers", "torch_dtype", "transformers_version"):
        config.pop(key, None)
    return config


def fill(model, scale=1.3, one_plus=False):
    """Weights by chance that are large enough for every setting to show."""
    import torch

    with torch.no_grad():
        for name, tensor in model.named_parameters():
            values = torch.randn_like(tensor)
            if tensor.dim() == 1:
                tensor.copy_(values * 0.2 + (1.0 if name.endswith("weight") and not one_plus else 0.0))
            elif "embed" in name.lower():
                tensor.copy_(values * 0.5)
            else:
                tensor.copy_(values * scale / tensor.shape[-1] ** 0.5)


def copy_tokenizer(family, folder):
    """The tokenizer's files, but for a SentencePiece model beside `tokenizer.json`."""
    names = ("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
    for name in names:
        if (MODELS / family / name).exists():
            shutil.copy(MODELS / family / name, folder / name)


def change(path, edit):
    """Changes a file of JSON."""
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value, ensure_ascii=False))


def choose(rng, **options):
    """One value for each setting; None in a list leaves it as it is."""
    chosen = {name: rng.choice(values) for name, values in options.items()}
    return {name: value for name, value in chosen.items() if value is not None}


def run(families, case, arguments):
    """Makes the rounds, prints what differs as it is found, and the count at the end."""
    count, reasons = collections.Counter(), collections.Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        for family in arguments.families or families:
            folder = arguments.keep / f"{family}-{seed}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                case(family, seed, folder)
                outcome, why = "equal", ""
            except Refused as error:
                outcome, why = "refused", str(error).replace(str(folder), "")[:160]
            except NotTheirs as error:
                outcome, why = "not theirs", str(error)[:160]
            except Other as error:
                outcome, why = "other", str(error)
            except Exception:
                outcome, why = "harness failed", traceback.format_exc(limit=-2)
            count[family, outcome] += 1
            if outcome in ("other", "harness failed"):
                print(f"{family} {seed}: {outcome}: {why}", flush=True)
            else:
                shutil.rmtree(folder)
                reasons[family, outcome, why] += bool(why)
    for (family, outcome, why), times in reasons.most_common():
        if times:
            print(f"{times:5} {family:20} {outcome}: {why}")
    for (family, outcome), times in sorted(count.items()):
        print(f"{family:20} {outcome:15} {times}")
    return any(outcome in ("other", "harness failed") for _, outcome in count)
