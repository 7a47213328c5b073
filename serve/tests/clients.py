"""Drives `nanoembed serve` with other people's clients, and with thousands of good and bad requests.

    cargo build -p nanoembed-cli --features serve
    python3 -m venv .venv && .venv/bin/pip install openai ollama schemathesis
    .venv/bin/python serve/tests/clients.py target/debug/nanoembed [--requests 10000] [--seed 1]

With Node, `npm install openai ollama` in a folder named by `--node FOLDER` runs those clients, too. Clients that are not
installed are named and left out.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RERANKER = ROOT / "tests/data/models/cross_encoder"
DECODER = ROOT / "tests/data/llama/tiny.gguf"
MODEL = "all-MiniLM-L6-v2"
WORDS = "how do I reset my password the weather is lovely today cats dogs train Berlin ünïcödé 日本語 😀".split()

NODE = """
import OpenAI from "openai";
import { Ollama } from "ollama";
const [url, model, expected] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const same = (vector, what) => {
  const found = Float32Array.from(vector);
  if (found.length !== expected.length || found.some((x, i) => x !== Math.fround(expected[i]))) throw new Error(what);
};
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const text = "How do I reset my password?";
for (const encoding_format of [undefined, "float", "base64"]) {
  const { data } = await client.embeddings.create({ model, input: text, encoding_format });
  let vector = data[0].embedding;
  if (typeof vector === "string") {
    const bytes = Uint8Array.from(atob(vector), (c) => c.charCodeAt(0));
    vector = new Float32Array(bytes.buffer);
  }
  same(vector, `openai ${encoding_format}`);
}
const missing = await client.embeddings.create({ model: "missing", input: "a" }).catch((error) => error);
if (missing.status !== 404 || missing.code !== "model_not_found") throw new Error(`${missing}`);
const ollama = new Ollama({ host: url });
const { embeddings } = await ollama.embed({ model, input: [text, "b"] });
if (embeddings.length !== 2 || embeddings[0].length !== expected.length) throw new Error("ollama");
const ask = {
  model: "tiny", messages: [{ role: "user", content: "the weather" }], seed: 5, max_tokens: 24,
};
const whole = await client.chat.completions.create(ask);
let joined = "";
for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
  joined += chunk.choices[0].delta.content ?? "";
}
if (joined !== whole.choices[0].message.content || !joined) throw new Error("openai chat");
if ((await ollama.list()).models.length !== 3) throw new Error("ollama list");
"""


class Server:
    """A running server."""

    def __init__(self, program, *arguments):
        command = [program, "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://([0-9.]+):(\d+)", line)
            if found:
                self.address = (found[1], int(found[2]))
                break
        self.url = "http://%s:%d" % self.address

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def metric(self, name):
        return float(re.search(rf"^{re.escape(name)} (.*)$", self.get("/metrics"), re.M)[1])

    def memory(self):
        """Bytes of private memory."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        kinds = re.findall(r"^Private_(?:Clean|Dirty): +(\d+)", rollup, re.M)
        return sum(map(int, kinds)) * 1024

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.stderr.read()
        status = self.process.wait(60)
        assert status == 0, f"status {status}: {said}"
        return said.strip().splitlines()[-1]


def embedded(program, texts, *arguments):
    """The vectors of texts, by `nanoembed embed`."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(text + "\n" for text in texts))
        file.flush()
        command = [program, "embed", "-q", "-f", file.name, "--format", "jsonl", *arguments]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [as_floats(json.loads(line)["embedding"]) for line in lines]


def generated(program, text, *arguments):
    """What `nanoembed generate` adds to a text: `{"ids", "text"}`."""
    command = [program, "generate", text, "-q", "--json", "-m", str(DECODER), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def as_floats(numbers):
    """The bytes of numbers as floats of 32 bits."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


def check_openai(server, program):
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    texts = ["How do I reset my password?", "日本語 😀", "a"]
    expected = embedded(program, texts)
    for encoding_format in (openai.omit, "float"):
        answer = client.embeddings.create(model=MODEL, input=texts, encoding_format=encoding_format)
        assert [as_floats(item.embedding) for item in answer.data] == expected, encoding_format
    short = client.embeddings.create(model=MODEL, input=texts, dimensions=64)
    wanted = embedded(program, texts, "--truncate-dim", "64", "--normalize")
    assert [as_floats(item.embedding) for item in short.data] == wanted
    assert {model.id for model in client.models.list()} == {MODEL, "cross_encoder", "tiny"}
    for arguments, error in (
        ({"model": "missing", "input": "a"}, openai.NotFoundError),
        ({"model": MODEL, "input": "a " * 500}, openai.BadRequestError),
        ({"model": MODEL, "input": []}, openai.BadRequestError),
    ):
        try:
            client.embeddings.create(**arguments)
        except error:
            continue
        raise AssertionError(arguments)


def check_openai_chat(server, program):
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    settings = {"model": "tiny", "seed": 5, "max_tokens": 24, "temperature": 1.2}
    options = ["--seed", "5", "-n", "24", "--temperature", "1.2"]
    expected = generated(program, "the weather", *options)
    answer = client.completions.create(prompt="the weather", **settings)
    assert answer.choices[0].text == expected["text"], answer
    assert answer.usage.completion_tokens == len(expected["ids"])
    chunks = client.completions.create(prompt="the weather", stream=True, **settings)
    assert "".join(chunk.choices[0].text for chunk in chunks) == expected["text"]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the weather"}]
    expected = generated(program, "the weather", "--chat", "--system", "Be brief.", *options)
    answer = client.chat.completions.create(messages=messages, **settings)
    choice = answer.choices[0]
    assert choice.message.content == expected["text"], answer
    assert choice.finish_reason in ("stop", "length")
    chunks = client.chat.completions.create(
        messages=messages, stream=True, stream_options={"include_usage": True}, **settings
    )
    chunks = list(chunks)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == expected["text"], text
    assert chunks[-1].usage == answer.usage and chunks[-2].choices[0].finish_reason == choice.finish_reason
    # An answer goes back as it came.
    client.chat.completions.create(messages=[*messages, choice.message, messages[1]], **settings)
    with client.chat.completions.stream(messages=messages, **settings) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
    assert "".join(deltas) == expected["text"], deltas
    # One that is broken off.
    chunks = client.chat.completions.create(messages=messages, model="tiny", stream=True)
    next(iter(chunks))
    chunks.close()
    for arguments, error, name in (
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError, "tools"),
        ({"n": 2}, openai.BadRequestError, "`n`"),
        ({"model": MODEL}, openai.NotFoundError, "does not continue texts"),
        ({"max_tokens": 10**6}, openai.BadRequestError, "tokens"),
    ):
        try:
            client.chat.completions.create(**{"messages": messages, **settings, **arguments})
        except error as failure:
            assert name in failure.message, failure.message
            continue
        raise AssertionError(arguments)


def check_ollama(server, program):
    import ollama

    client = ollama.Client(server.url)
    texts = ["How do I reset my password?", "a " * 500]
    answer = client.embed(MODEL, texts)
    assert [as_floats(vector) for vector in answer.embeddings] == embedded(program, texts, "--normalize")
    assert [as_floats(client.embeddings(MODEL, "a").embedding)] == embedded(program, ["a"])
    assert len(client.list().models) == 3
    assert client.show(MODEL).modelinfo["nanoembed.context_length"] == 256
    try:
        client.embed(MODEL, texts, truncate=False)
    except ollama.ResponseError as error:
        assert error.status_code == 400
    else:
        raise AssertionError("a text that is too long")


def check_node(server, program, folder):
    script = Path(folder) / "check.mjs"
    script.write_text(NODE)
    vector = embedded(program, ["How do I reset my password?"])[0]
    numbers = json.dumps(struct.unpack(f"<{len(vector) // 4}f", vector))
    subprocess.run(["node", script.name, server.url, MODEL, numbers], cwd=folder, check=True, timeout=120)


def check_description(server, _):
    import schemathesis  # noqa: F401

    tool = Path(sys.executable).parent / "schemathesis"
    # Prompts and sizes of vectors are the model's, which a description of all servers does not know.
    unknown = ["--exclude-checks", "positive_data_acceptance"]
    command = [tool, "run", server.url + "/openapi.json", "--max-examples", "60", "--no-color", *unknown]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if ran.returncode:
        raise AssertionError(ran.stdout[-6000:])


class Hammer:
    """Requests of many clients at once, some of which break off, are malformed or too large."""

    def __init__(self, server, program, seed):
        self.server, self.random = server, random.Random(seed)
        self.texts = [" ".join(self.random.choices(WORDS, k=self.random.randint(1, 60))) for _ in range(300)]
        self.vectors = embedded(program, self.texts)
        self.lock, self.counts, self.failures = threading.Lock(), {}, []

    def run(self, requests, clients=32):
        seeds = iter(range(requests))
        threads = [threading.Thread(target=self.client, args=(seeds,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def client(self, seeds):
        while True:
            with self.lock:
                seed = next(seeds, None)
            if seed is None:
                return
            choice = random.Random(seed)
            act = choice.choices(
                [self.embed, self.rerank, self.chat, self.abort, self.malformed, self.oversized, self.garbage],
                [52, 8, 8, 12, 10, 4, 6],
            )[0]
            try:
                act(choice)
            except Exception as error:  # noqa: BLE001
                with self.lock:
                    self.failures.append(f"{act.__name__} {seed}: {error!r}")
            with self.lock:
                self.counts[act.__name__] = self.counts.get(act.__name__, 0) + 1

    def connect(self):
        return socket.create_connection(self.server.address, timeout=120)

    def exchange(self, bytes_):
        with self.connect() as stream:
            try:
                stream.sendall(bytes_)
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = b""
            try:
                while part := stream.recv(1 << 16):
                    answer += part
            except ConnectionResetError:
                pass
        head, _, body = answer.partition(b"\r\n\r\n")
        return (int(head[9:12]) if head else 0), body

    def request(self, path, body):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def some(self, choice):
        return [choice.randrange(len(self.texts)) for _ in range(choice.choice([1, 1, 1, 2, 5, 30]))]

    def embed(self, choice):
        some = self.some(choice)
        body = {"model": MODEL, "input": [self.texts[at] for at in some]}
        status, body = self.exchange(self.request("/v1/embeddings", body))
        assert status == 200, (status, body[:200])
        vectors = [as_floats(item["embedding"]) for item in json.loads(body)["data"]]
        assert vectors == [self.vectors[at] for at in some], "other vectors"

    def rerank(self, choice):
        texts = [self.texts[at][:40] for at in self.some(choice)]
        body = {"query": "password", "texts": texts, "return_text": True, "truncate": True}
        status, body = self.exchange(self.request("/rerank", body))
        assert status == 200, (status, body[:200])
        ranks = json.loads(body)
        assert sorted(rank["index"] for rank in ranks) == list(range(len(texts)))
        assert all(rank["text"] == texts[rank["index"]] for rank in ranks)

    def chat(self, choice):
        message = {"role": "user", "content": choice.choice(self.texts)[:40]}
        body = {"messages": [message], "max_tokens": 8, "seed": 1, "stream": choice.random() < 0.5}
        status, body = self.exchange(self.request("/v1/chat/completions", body))
        assert status == 200, (status, body[:200])
        assert b"[DONE]" in body or json.loads(body)["usage"]["completion_tokens"] <= 8, body

    def abort(self, choice):
        request = self.request("/v1/embeddings", {"input": [self.texts[at] for at in self.some(choice)]})
        if choice.random() < 0.3:
            body = {"prompt": choice.choice(self.texts), "stream": choice.random() < 0.5}
            request = self.request("/v1/completions", body)
        with self.connect() as stream:
            stream.sendall(request[: choice.randint(1, len(request))])
            if choice.random() < 0.5:
                # A reset, not an end.
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def malformed(self, choice):
        body = bytearray(json.dumps({"input": [self.texts[at] for at in self.some(choice)]}).encode())
        body[choice.randrange(len(body) - 1)] = choice.choice(b"\x00\xff{}[]\\")
        status, _ = self.exchange(self.request("/v1/embeddings", bytes(body)))
        # A damaged text may still be one.
        assert status in (200, 400), status

    def oversized(self, choice):
        body = b'{"input": "' + b"a" * choice.randint(9 << 20, 10 << 20) + b'"}'
        status, _ = self.exchange(self.request("/v1/embeddings", body))
        assert status in (413, 0), status

    def garbage(self, choice):
        status, _ = self.exchange(choice.randbytes(choice.randint(1, 300)) + b"\r\n\r\n")
        assert status in (400, 0), status


def check_hammer(server, program, requests, seed):
    hammer = Hammer(server, program, seed)
    hammer.run(min(requests, 1000))
    before = server.memory()
    hammer.run(requests)
    after = server.memory()
    assert not hammer.failures, "\n".join(hammer.failures[:10])
    while server.metric("nanoembed_requests_in_flight"):
        pass
    print(f"  {hammer.counts}; private memory {before >> 20} MiB, then {after >> 20} MiB")
    assert after < before * 1.25 + (16 << 20), "memory grows"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--node", help="folder with the packages openai and ollama")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    builtin = str(ROOT / "models" / "all-MiniLM-L6-v2.int8.weights")
    server = Server(program, f"{MODEL}={builtin}", str(RERANKER), str(DECODER))
    checks = [
        ("openai", check_openai),
        ("openai: texts that go on", check_openai_chat),
        ("ollama", check_ollama),
        ("OpenAPI by schemathesis", check_description),
    ]
    if arguments.node:
        checks.append(("openai and ollama in Node", lambda *it: check_node(*it, arguments.node)))
    checks.append(("mixed requests", lambda *it: check_hammer(*it, arguments.requests, arguments.seed)))
    failed = False
    for name, check in checks:
        try:
            check(server, program)
            print(f"ok       {name}")
        except ModuleNotFoundError as error:
            print(f"left out {name}: {error}")
        except AssertionError as error:
            failed = True
            print(f"FAILED   {name}: {error}")
    print(server.end())
    sys.exit(failed)


if __name__ == "__main__":
    main()
