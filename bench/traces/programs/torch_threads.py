"""torch_threads.py [REQUESTS [SEED]]: a server of several models in PyTorch. Each worker is a host thread with a stream.

record.sh runs it under `streampool run --record`, which makes bench/traces/torch_threads.csv.gz. PyTorch takes each
tensor from CUDA's pool (backend:cudaMallocAsync), so the trace has the tensors, and not the segments of PyTorch's
caching allocator.

  main       draws requests of random kind and size, which come at random times
  chat x 3   a decoder; each conversation has caches that grow, and are dropped at its end; up to eight at once
  loader     copies images to the device, for
  vision x 2 a convolutional network; resolution and batch size vary
  embed      a transformer encoder over batches of texts of varying length
  upscale    a network with few layers and large activations
  store      keeps what the others have computed, up to a number of bytes, and drops what wasn't asked for longest

Tensors that pass from thread to thread pass from stream to stream too: the taker's stream waits for an event of the
maker's, and record_stream() tells PyTorch of the second stream. Weights are random. What a worker draws is the same in
each run; how the threads interleave is up to the machine.
"""
import collections
import os
import queue
import random
import sys
import threading
import time

os.environ.setdefault("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")

import torch
import torch.nn.functional as F
from torch import nn

REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 190
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
MIB = 1 << 20
HALF = torch.bfloat16
WIDTH, HEADS, WORDS = 1024, 16, 8192
PER_SECOND = 25
STORED_BYTES = 192 * MIB
AT_ONCE = 8


# ---------------------------------------------------------------------------- models


class Cache:
    """Keys and values of one layer of one conversation. It grows by half when it is full."""

    def __init__(self, tokens):
        self.used = 0
        self.keys = torch.empty(1, HEADS, tokens, WIDTH // HEADS, device="cuda", dtype=HALF)
        self.values = torch.empty_like(self.keys)

    def add(self, keys, values):
        wanted = self.used + keys.shape[2]
        if wanted > self.keys.shape[2]:
            self.keys = self.grown(self.keys, wanted)
            self.values = self.grown(self.values, wanted)
        self.keys[:, :, self.used : wanted] = keys
        self.values[:, :, self.used : wanted] = values
        self.used = wanted
        return self.keys[:, :, :wanted], self.values[:, :, :wanted]

    def grown(self, old, wanted):
        new = old.new_empty(1, HEADS, max(wanted, old.shape[2] * 3 // 2), WIDTH // HEADS)
        new[:, :, : self.used] = old[:, :, : self.used]
        return new


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, cache):
        tokens = x.shape[1]
        parts = self.attention(self.before(x)).view(1, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        keys, values = cache.add(parts[1], parts[2])
        mask = torch.ones(tokens, cache.used, device="cuda", dtype=torch.bool).tril(cache.used - tokens)
        seen = F.scaled_dot_product_attention(parts[0], keys, values, attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).reshape(1, tokens, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Decoder(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(layers))

    def forward(self, tokens, caches):
        x = self.words(tokens)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache)
        return F.linear(self.norm(x[:, -1]), self.words.weight).argmax(-1)


def vision_model():
    layers, channels = [], 3
    for wider in (48, 96, 192, 384):
        layers += [nn.Conv2d(channels, wider, 3, stride=2, padding=1), nn.GroupNorm(8, wider), nn.ReLU()]
        layers += [nn.Conv2d(wider, wider, 3, padding=1), nn.ReLU()]
        channels = wider
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 512))


def embed_model():
    layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def upscale_model():
    return nn.Sequential(
        nn.Conv2d(4, 96, 3, padding=1), nn.SiLU(), nn.Conv2d(96, 96, 3, padding=1), nn.SiLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(96, 48, 3, padding=1), nn.SiLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(48, 3, 3, padding=1))


# ---------------------------------------------------------------------------- from thread to thread


class Passed:
    """A tensor on its way from this thread's stream to another thread's."""

    def __init__(self, tensor, about=None):
        self.tensor, self.about = tensor, about
        self.ready = torch.cuda.current_stream().record_event()

    def take(self):
        stream = torch.cuda.current_stream()
        stream.wait_event(self.ready)
        tensor, self.tensor = self.tensor, None
        tensor.record_stream(stream)
        return tensor


class Worker(threading.Thread):
    """Calls each() for what comes in, on a stream of its own, until None comes."""

    def __init__(self, name, number):
        super().__init__(name=name)
        self.inbox = queue.Queue(maxsize=8)
        self.random = random.Random(f"{SEED} {name} {number}")
        self.ended = False
        self.error = None

    def run(self):
        try:
            with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
                self.work()
                torch.cuda.current_stream().synchronize()
        except Exception as error:
            self.error = error
            while not self.ended:  # so that nobody waits for room for ever
                self.next()

    def next(self, block=True):
        request = self.inbox.get(block)
        self.ended = request is None
        return request

    def work(self):
        while (request := self.next()) is not None:
            self.each(request)


# ---------------------------------------------------------------------------- workers


class Conversation:
    def __init__(self, prompt, turns):
        self.prompt, self.turns = prompt, turns
        self.caches = None


class Chat(Worker):
    def __init__(self, number, model, store):
        super().__init__("chat", number)
        self.model, self.store = model, store
        self.active = []

    def work(self):
        while not self.ended or self.active:
            if not self.ended and len(self.active) < AT_ONCE:
                self.begin_another()
            if self.active:
                self.step(self.random.choice(self.active))

    def begin_another(self):
        """Waits for a request only if there is nothing else to do."""
        try:
            request = self.next(block=not self.active)
        except queue.Empty:
            return
        if request is not None:
            self.active.append(Conversation(*request))

    def step(self, conversation):
        """The prompt at first, then several tokens at once, of which a small model was sure."""
        tokens = self.random.randint(1, 64)
        if conversation.caches is None:
            tokens = conversation.prompt
            conversation.caches = [Cache((tokens + 127) // 64 * 64) for _ in self.model.layers]
        words = torch.randint(WORDS, (1, tokens), device="cuda")
        word = self.model(words, conversation.caches)
        word.item()
        conversation.turns -= 1
        if conversation.turns <= 0:
            self.active.remove(conversation)
            if self.random.random() < 0.3:  # the prompt's keys are kept for others that begin alike
                self.store.inbox.put(Passed(conversation.caches[0].keys, "copy"))


class Loader(Worker):
    def __init__(self, takers):
        super().__init__("loader", 0)
        self.takers = takers

    def each(self, request):
        batch, height, width = request
        images = torch.randint(256, (batch, 3, height, width), dtype=torch.uint8)
        images = images.cuda(non_blocking=True).to(HALF) / 255
        self.random.choice(self.takers).inbox.put(Passed(images))


class Vision(Worker):
    def __init__(self, number, model, store):
        super().__init__("vision", number)
        self.model, self.store = model, store

    def each(self, passed):
        images = passed.take()
        features = self.model(images)
        scores = features.float().softmax(-1)
        scores.topk(5).values.cpu()
        self.store.inbox.put(Passed(features))


class Embed(Worker):
    def __init__(self, model, store):
        super().__init__("embed", 0)
        self.model, self.store = model, store

    def each(self, lengths):
        longest = max(lengths)
        ends = torch.tensor(lengths).cuda()
        texts = torch.randn(len(lengths), longest, 384, device="cuda", dtype=HALF)
        beyond = torch.arange(longest, device="cuda")[None] >= ends[:, None]
        texts = self.model(texts, src_key_padding_mask=beyond).masked_fill(beyond[:, :, None], 0)
        self.store.inbox.put(Passed(texts.sum(1) / ends[:, None]))
        if self.random.random() < 0.25:
            self.store.inbox.put(Passed(texts))


class Upscale(Worker):
    def __init__(self, model, store):
        super().__init__("upscale", 0)
        self.model, self.store = model, store

    def each(self, request):
        batch, height, width = request
        for _ in range(self.random.randint(1, 3)):
            images = self.model(torch.randn(batch, 4, height, width, device="cuda", dtype=HALF))
        images = images.clamp(-1, 1).mul(127.5).add(127.5).to(torch.uint8)
        self.store.inbox.put(Passed(images[:1], "copy"))
        images.cpu()


class Store(Worker):
    """Takes tensors as they are, or copies of them, and sometimes looks some up."""

    def __init__(self):
        super().__init__("store", 0)
        self.kept = collections.OrderedDict()
        self.bytes = 0
        self.count = 0

    def work(self):
        super().work()
        self.kept.clear()

    def each(self, passed):
        tensor = passed.take()
        if passed.about == "copy":
            tensor = tensor.clone()
        self.kept[self.count] = tensor
        self.count += 1
        self.bytes += tensor.nbytes
        while self.bytes > STORED_BYTES and len(self.kept) > 1:
            self.bytes -= self.kept.popitem(last=False)[1].nbytes
        for name in self.random.sample(list(self.kept), min(3, len(self.kept))):
            self.kept.move_to_end(name)
            found = self.kept[name].flatten()[:4096].float()
            (found / (found.norm() + 1e-6)).sum()


# ---------------------------------------------------------------------------- requests


def chat_request(draw):
    return int(20 * 2 ** draw.uniform(0, 6)), min(40, 1 + int(draw.expovariate(1 / 6)))


def vision_request(draw):
    return draw.choice((1, 1, 2, 4, 8, 16)), draw.randint(12, 64) * 8, draw.randint(12, 64) * 8


def embed_request(draw):
    return [draw.randint(4, 2 ** draw.randint(4, 9)) for _ in range(draw.randint(1, 32))]


def upscale_request(draw):
    return draw.choice((1, 1, 2)), draw.randint(8, 40) * 8, draw.randint(8, 40) * 8


def main():
    torch.manual_seed(SEED)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it would plan anew for each length
    with torch.inference_mode():
        chat, vision, embed, upscale = (
            model.to("cuda", HALF).eval() for model in (Decoder(), vision_model(), embed_model(), upscale_model()))
    torch.cuda.synchronize()
    store = Store()
    chats = [Chat(i, chat, store) for i in range(3)]
    visions = [Vision(i, vision, store) for i in range(2)]
    loader, embedder, upscaler = Loader(visions), Embed(embed, store), Upscale(upscale, store)
    first = [*chats, loader, embedder, upscaler]
    for worker in [*first, *visions, store]:
        worker.start()
    draw = random.Random(SEED)
    kinds = ((chats, chat_request, 6), ([loader], vision_request, 10), ([embedder], embed_request, 8),
             ([upscaler], upscale_request, 3))
    for _ in range(REQUESTS):
        time.sleep(draw.expovariate(PER_SECOND))
        takers, request, _ = draw.choices(kinds, [kind[2] for kind in kinds])[0]
        draw.choice(takers).inbox.put(request(draw))
    for workers in (first, visions, [store]):  # each group ends when those before it have
        for worker in workers:
            worker.inbox.put(None)
        for worker in workers:
            worker.join()
    torch.cuda.synchronize()
    errors = [worker.error for worker in [*first, *visions, store] if worker.error]
    if errors:
        raise errors[0]


if __name__ == "__main__":
    main()
