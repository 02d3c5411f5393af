"""The peer of itg_bench: ONNX Runtime, asked line by line (fields between tabs), answering "ok ..." or "error ...".
    open MODEL SAMPLES DIMS THREADS        -> ok NUMBER BATCH      samples: a file of float32, dims "256,3,32,32"
    open-artefact ARTEFACT SAMPLES ...     -> the same, of the artefact's QDQ model (tests/onnxruntime/qdq.py)
    time NUMBER RUNS                       -> ok SECONDS           of one pass over all samples, the mean of RUNS in a row
    outputs NUMBER COUNT FILE              -> ok ELEMENTS          first output of the first samples, float32, into the file
    close NUMBER                           -> ok
The first line that it writes is "ready" and its name, or "absent" and why."""
import os
import sys
import time

BATCHES = (1, 4, 16, 64)
SLOW = 0.005  # seconds of a sample: fewer samples and rounds choose the batch
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "onnxruntime"))


class Session:
    def __init__(self, model, path, dims, threads):
        # As bench_clock: of one thread the processor's time.
        self.clock = time.process_time if threads == 1 else time.perf_counter
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 4
        # Threads that wait in a loop would take the processor from whatever is measured next.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]
        self.output = self.session.get_outputs()[0].name
        self.samples = numpy.memmap(path, numpy.float32, "r", shape=dims)
        self.samples = numpy.array(self.samples).reshape(-1, *(d for d in self.input.shape[1:]))
        self.batch = self.choose_batch()

    def choose_batch(self):
        """The fastest on the first samples."""
        fixed = self.input.shape[0]
        if isinstance(fixed, int):
            if len(self.samples) % fixed:
                raise ValueError(f"{len(self.samples)} samples in batches of {fixed}")
            return fixed
        self.run(self.samples[:2], 1)
        slow = self.seconds(self.samples[:1], 1) > SLOW
        some = self.samples[:max(b for b in BATCHES if b <= (16 if slow else 64))]
        least = {b: float("inf") for b in BATCHES if b <= len(some)}
        for _ in range(2 if slow else 5):
            for batch in least:
                least[batch] = min(least[batch], self.seconds(some, batch))
        return min(least, key=least.get)

    def run(self, samples, batch):
        return [self.session.run([self.output], {self.input.name: samples[i:i + batch]})[0]
                for i in range(0, len(samples), batch)]

    def seconds(self, samples, batch):
        begun = self.clock()
        self.run(samples, batch)
        return self.clock() - begun


def without_softmax(model):
    """Its logits: what the engine scores, and a little less work."""
    last = model.graph.node[-1]
    if last.op_type in ("Softmax", "LogSoftmax") and list(last.output) == [o.name for o in model.graph.output]:
        model.graph.output[0].name = last.input[0]
        model.graph.output[0].type.tensor_type.ClearField("shape")
        del model.graph.node[-1]
    return model


class Peer:
    def __init__(self):
        self.sessions, self.opened = {}, 0

    def add(self, model, path, dims, threads):
        session = Session(model.SerializeToString(), path, [int(d) for d in dims.split(",")], int(threads))
        self.opened += 1
        self.sessions[self.opened] = session
        return f"{self.opened} {session.batch}"

    def open(self, model, *rest):
        return self.add(without_softmax(onnx.load(model)), *rest)

    def open_artefact(self, artefact, *rest):
        import qdq
        model = qdq.translate(artefact, prefer_gemm=True)
        alone = onnx.ModelProto()
        alone.CopyFrom(model)
        # One sample at a time is what the artefact says; most operators take any number.
        for value in [*model.graph.input, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
        targets = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
        for constant in (i for i in model.graph.initializer if i.name in targets):
            dims = onnx.numpy_helper.to_array(constant).copy()
            dims[0] = 0 if dims[0] == 1 else dims[0]  # as many as there are
            constant.CopyFrom(onnx.numpy_helper.from_array(dims, constant.name))
        try:
            return self.add(model, *rest)
        except Exception:
            return self.add(alone, *rest)

    def time(self, number, runs):
        session = self.sessions[int(number)]
        return repr(sum(session.seconds(session.samples, session.batch) for _ in range(int(runs))) / int(runs))

    def outputs(self, number, count, path):
        session = self.sessions[int(number)]
        samples = session.samples[:int(count)]
        out = numpy.concatenate(session.run(samples, session.batch if isinstance(session.input.shape[0], int) else 1))
        out.astype(numpy.float32).tofile(path)
        return str(out.size // len(samples))

    def close(self, number):
        del self.sessions[int(number)]
        return ""


def main():
    peer = Peer()
    commands = {"open": peer.open, "open-artefact": peer.open_artefact, "time": peer.time, "outputs": peer.outputs,
                "close": peer.close}
    print("ready", f"ONNX Runtime {onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        name, *fields = line.rstrip("\n").split("\t")
        try:
            answer = "ok " + commands[name](*fields)
        except Exception as error:  # whatever a model does to it: the bench goes on without this figure
            answer = f"error {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        print(answer, flush=True)


try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as error:
    print("absent", error, flush=True)
else:
    main()
