"""An integer program (artefact file, docs/artefact.md) as the QDQ model that says the same to ONNX Runtime: QuantizeLinear and
DequantizeLinear around float operators, with exactly the program's scales, zero points, int8 weights and int32 biases."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STORAGE = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "s32": np.int32}
FUNCTION_ATTRIBUTES = {"LeakyRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"], "Elu": ["alpha"]}


class Unsupported(Exception):
    """The program holds something that this translation does not know."""


class Attributes:
    """A node's attributes; those that are left out are 0."""

    def __init__(self, node):
        self.given = {a.name: helper.get_attribute_value(a) for a in node.attribute}

    def __contains__(self, name):
        return name in self.given

    def __call__(self, name, default=0):
        value = self.given.get(name, default)
        return value.decode() if isinstance(value, bytes) else value


def unpacked(packed, a, i):
    """docs/artefact.md, packed constants."""
    dtype, shape, bits = STORAGE[a(f"x{i}_dtype")], a(f"x{i}_shape", []), a(f"x{i}_bits")
    flat = np.unpackbits(packed, bitorder="little")[:int(np.prod(shape)) * bits].reshape(-1, bits).astype(np.int64)
    codes = (flat << np.arange(bits)).sum(1)
    if np.iinfo(dtype).min < 0:
        codes = np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes)
    return codes.astype(dtype).reshape(shape)


class Translation:
    def __init__(self, program, float_activation=None, prefer_gemm=False):
        self.program = program
        self.float_activation = float_activation  # ("Relu",), ("Clip", lo, hi): a float node before the last QuantizeLinear
        self.prefer_gemm = prefer_gemm
        self.constants = {i.name: numpy_helper.to_array(i) for i in program.graph.initializer}
        packed = dict(self.constants)
        for node in program.graph.node:
            a = Attributes(node)
            for i, name in enumerate(node.input):
                if f"x{i}_dtype" in a:
                    self.constants[name] = unpacked(packed[name], a, i)
        self.nodes, self.initializers = [], []
        self.quantizers, self.shapes, self.codes = {}, {}, {}
        for value in program.graph.input:
            dims = value.type.tensor_type.shape.dim
            self.shapes[value.name] = [d.dim_value if d.HasField("dim_value") else 1 for d in dims]

    # ---- building ----

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{op}:{output}", **attributes))
        return output

    def quantize(self, real, name, a, index):
        """real -> codes of the value `name`, written by output `index` of the node with attributes a."""
        scale, zero = np.float32(a(f"y{index}_scale")[0]), a(f"y{index}_zero_point")
        dtype = STORAGE[a(f"y{index}_dtype", "f32")]
        lo, hi = a(f"y{index}_qmin"), a(f"y{index}_qmax")
        if f"y{index}_clamp_hi" in a or f"y{index}_clamp_lo" in a:
            lo, hi = a(f"y{index}_clamp_lo"), a(f"y{index}_clamp_hi")
        self.quantizers[name] = (self.constant(f"{name}/scale", scale), self.constant(f"{name}/zero", dtype(zero)))
        out = self.node("QuantizeLinear", [real, *self.quantizers[name]], f"{name}/codes")
        limits = np.iinfo(dtype)
        if lo > limits.min or hi < limits.max:
            bounds = [self.constant(f"{name}/lo", dtype(lo)), self.constant(f"{name}/hi", dtype(hi))]
            out = self.node("Clip", [out, *bounds], f"{name}/clipped")
        self.codes[name] = out

    def operand(self, name, a, index, user):
        """The float tensor that stands for input `index` of a node."""
        if name not in self.constants:
            return self.node("DequantizeLinear", [self.codes[name], *self.quantizers[name]], f"{user}/{index}/{name}")
        return self.weights(name, self.constants[name], a, index, a(f"x{index}_axis"), user)

    def weights(self, name, codes, a, index, axis, user):
        scale = np.asarray(a(f"x{index}_scale"), np.float32)
        zero = np.full(scale.shape, a(f"x{index}_zero_point"), codes.dtype)
        if axis < 0:
            scale, zero = scale[0], zero[0]
        names = [self.constant(f"{user}/{name}/{part}", v) for part, v in (("codes", codes), ("scale", scale), ("zero", zero))]
        attributes = {"axis": axis} if axis >= 0 else {}
        return self.node("DequantizeLinear", names, f"{user}/{index}/{name}", **attributes)

    def bias(self, node, a):
        if len(node.input) < 3:
            return []
        codes = self.constants[node.input[2]]
        if np.any(np.abs(codes) >= 2 ** 31):
            raise Unsupported("a bias of more than 32 bits")
        x_scale = next(numpy_helper.to_array(i) for i in self.initializers if i.name == self.quantizers[node.input[0]][0])
        scale = (np.asarray(a("x1_scale"), np.float32) * np.float32(x_scale)).astype(np.float32)
        if scale.size == 1:
            scale = np.full(codes.size, scale[0], np.float32)
        user = node.output[0]
        names = [self.constant(f"{user}/bias/codes", codes.astype(np.int32)), self.constant(f"{user}/bias/scale", scale),
                 self.constant(f"{user}/bias/zero", np.zeros(codes.size, np.int32))]
        return [self.node("DequantizeLinear", names, f"{user}/bias", axis=0)]

    # ---- operators ----

    @staticmethod
    def window(a, rank, pool):
        """Attributes of a window operator; of two dimensions in the file, the second alone counts on [N,C,W]."""
        kept = slice(0, 2) if rank == 4 else slice(1, 2)
        pad = a("pad", [0, 0, 0, 0])
        out = {"kernel_shape": a("kernel")[kept], "strides": a("stride")[kept], "pads": pad[0:2][kept] + pad[2:4][kept]}
        if a("dilation", [1, 1])[kept] != [1, 1][kept]:
            out["dilations"] = a("dilation")[kept]
        if pool:
            out["ceil_mode"] = a("ceil_mode")
        else:
            out["group"] = a("group", 1)
        return out

    def conv(self, node, a):
        user = node.output[0]
        inputs = [self.operand(node.input[0], a, 0, user), self.operand(node.input[1], a, 1, user), *self.bias(node, a)]
        return self.node("Conv", inputs, f"{user}/real", **self.window(a, len(self.shapes[node.input[0]]), False))

    def matmul(self, node, a):
        user, right = node.output[0], node.input[1]
        x = self.operand(node.input[0], a, 0, user)
        bias = self.bias(node, a)
        if right not in self.constants:
            if a("trans_b") or bias:
                raise Unsupported("MatMul of two activations with a bias or a transposed operand")
            return self.node("MatMul", [x, self.operand(right, a, 1, user)], f"{user}/real")
        codes, axis = self.constants[right], a("x1_axis")
        if a("trans_b") and codes.ndim > 1:
            codes = np.swapaxes(codes, -1, -2)
            axis = {codes.ndim - 1: codes.ndim - 2, codes.ndim - 2: codes.ndim - 1}.get(axis, axis)
        w = self.weights(right, codes, a, 1, axis, user)
        gemm = codes.ndim == 2 and len(self.shapes[node.input[0]]) == 2 and (bias or self.prefer_gemm)
        if bias and not gemm:
            raise Unsupported("MatMul with a bias")
        return self.node("Gemm" if gemm else "MatMul", [x, w, *bias], f"{user}/real")

    def elementwise(self, op, node, a):
        user = node.output[0]
        inputs = [self.operand(name, a, i, user) for i, name in enumerate(node.input)]
        return self.node(op, inputs, f"{user}/real")

    def function(self, op, node, a):
        user = node.output[0]
        inputs = [self.operand(node.input[0], a, 0, user)]
        if op == "Clip":
            inputs += [self.constant(f"{user}/{k}", np.float32(a(k))) for k in ("min", "max")]
        return self.node(op, inputs, f"{user}/real", **{k: a(k, 0.0) for k in FUNCTION_ATTRIBUTES.get(op, [])})

    def pool(self, op, node, a):
        user = node.output[0]
        attributes = {} if op.startswith("Global") else self.window(a, len(self.shapes[node.input[0]]), True)
        if op == "AveragePool":
            attributes["count_include_pad"] = a("count_include_pad")
        return self.node(op, [self.operand(node.input[0], a, 0, user)], f"{user}/real", **attributes)

    def slice(self, node, a):
        user, axes, starts, steps = node.output[0], a("axes"), a("starts", None), a("steps")
        starts = starts if starts is not None else [0] * len(axes)
        sizes = a("y0_shape")
        ends = [s + (sizes[k] - 1) * t + (1 if t > 0 else -1) for k, s, t in zip(axes, starts, steps)]
        lists = [self.constant(f"{user}/{n}", np.asarray(v, np.int64))
                 for n, v in (("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps))]
        return self.node("Slice", [self.operand(node.input[0], a, 0, user), *lists], f"{user}/real")

    def operator(self, op, node, a):
        user = node.output[0]
        if op == "Conv":
            return self.conv(node, a)
        if op == "MatMul":
            return self.matmul(node, a)
        if op in ("Add", "Sub", "Mul"):
            return self.elementwise(op, node, a)
        if op in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
            return self.pool(op, node, a)
        if op == "Slice":
            return self.slice(node, a)
        if op == "Transpose":
            return self.node(op, [self.operand(node.input[0], a, 0, user)], f"{user}/real",
                             perm=a("perm", [0] * len(a("y0_shape"))))
        if op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
            shape = self.constant(f"{user}/shape", np.asarray(a("y0_shape"), np.int64))
            return self.node("Reshape", [self.operand(node.input[0], a, 0, user), shape], f"{user}/real")
        if op == "Concat":
            inputs = [self.operand(name, a, i, user) for i, name in enumerate(node.input)]
            return self.node(op, inputs, f"{user}/real", axis=a("axis"))
        raise Unsupported(f"operator {op}")

    def step(self, node):
        a = Attributes(node)
        op = node.op_type
        if len(node.output) != 1:
            raise Unsupported(f"{op} with several outputs")
        self.shapes[node.output[0]] = a("y0_shape")
        if op == "Quantize":
            self.quantize(node.input[0], node.output[0], a, 0)
            return
        if op.startswith("Lut"):
            del node.input[1:]  # the table
            real = self.function(op[3:], node, a)
        elif op in ("IntRelu", "IntClip"):
            real = self.function(op[3:], node, a)
        elif op.startswith("Int"):
            real = self.operator(op[3:], node, a)
        else:
            raise Unsupported(op)
        last = node.output[0] == self.program.graph.output[0].name
        if self.float_activation and last:
            op, *bounds = self.float_activation
            names = [self.constant(f"{node.output[0]}/bound{i}", np.float32(v)) for i, v in enumerate(bounds)]
            real = self.node(op, [real, *names], f"{node.output[0]}/activated")
        self.quantize(real, node.output[0], a, 0)

    def model(self, opset):
        for node in self.program.graph.node:
            self.step(node)
        graph_input, graph_output = self.program.graph.input[0], self.program.graph.output[0]
        out = self.codes[graph_output.name]
        graph = helper.make_graph(
            self.nodes, "qdq",
            [helper.make_tensor_value_info(graph_input.name, TensorProto.FLOAT, self.shapes[graph_input.name])],
            [helper.make_tensor_value_info(out, graph_output.type.tensor_type.elem_type, self.shapes[graph_output.name])],
            self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def translate(path, float_activation=None, prefer_gemm=False, opset=17):
    return Translation(onnx.load(path), float_activation, prefer_gemm).model(opset)
