import onnx
import pytest
from onnx import TensorProto, helper

import intaglio


def square_network(op="Relu"):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], name="only")], "square", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_path_bytes_and_proto_are_one_model(digits):
    path = digits.model()
    data = intaglio.Model(digits.path.read_bytes(), name="digits.onnx")
    proto = intaglio.Model(onnx.load(digits.path))
    assert path.hash == data.hash and len(path.hash) == 64
    assert path.text() == data.text() == proto.text()
    assert path.name == data.name == "digits.onnx"


def test_values(digits):
    model = digits.model()
    assert model.inputs == [("image", (1, 1, 16, 16), "f32")]
    assert model.outputs == [("logits", (1, 10), "f32")]
    assert model.is_classifier


def test_open_sizes(digits):
    model = intaglio.Model(square_network())
    assert model.name == "square.onnx" and model.inputs[0].shape == (1, 3)
    tall = square_network()
    tall.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "m"
    for shape in ("x=1,5", (1, 5), {"x": (1, 5)}):
        assert intaglio.Model(tall, input_shape=shape).inputs[0].shape == (1, 5)


def test_outputs(digits):
    assert intaglio.Model(digits.path, outputs=["conv4_relu"]).outputs[0].name == "conv4_relu"


def test_errors_name_file_and_place(digits, tmp_path):
    with pytest.raises(intaglio.InputOutputError, match="no.onnx: cannot open") as failure:
        intaglio.Model(tmp_path / "no.onnx")
    assert failure.value.status == "IO" and isinstance(failure.value, OSError)
    with pytest.raises(intaglio.BadFile, match="square.onnx: ") as failure:
        intaglio.Model(b"nothing", name="square.onnx")
    assert failure.value.status == "BAD_FILE"
    with pytest.raises(intaglio.Error, match="only"):
        intaglio.Model(square_network("Unheard"))
    with pytest.raises(intaglio.BadArgument, match="at most 511 bytes, found 600"):
        intaglio.Model(digits.path, outputs="x" * 600)


def test_survey(digits, tmp_path):
    assert intaglio.Model.survey(digits.path) == []
    onnx.save(square_network("Unheard"), tmp_path / "bad.onnx")
    (refusal,) = intaglio.Model.survey(tmp_path / "bad.onnx")
    assert refusal.what == "operator Unheard" and "only" in refusal.first and refusal.times == 1


def test_check(digits):
    check = digits.model().check("cortex-m")
    assert check.runs and len(check) == 12 and {node.placement for node in check} == {"integer", "fused"}
    assert sum(node.macs for node in check) == 295152
    assert check.costs["weight_bytes"] == 7224 and check.no_c == "" and check.notes == []
    floats = digits.model().check("float")
    assert {node.placement for node in floats} == {"float", "fused"} or {node.placement for node in floats} == {"float"}


def test_hardware(digits):
    assert "cortex-m" in intaglio.targets()
    built_in = intaglio.Hardware("cortex-m")
    again = intaglio.Hardware(built_in.description)
    assert again.name == "cortex-m" and again.description == built_in.description
    with pytest.raises(intaglio.Error, match="cortex-x"):
        digits.model().check("cortex-x")
    with pytest.raises(intaglio.Error, match="hardware"):
        intaglio.Hardware({"name": 3})


def test_names_are_escaped():
    network = square_network()
    network.graph.input[0].name = network.graph.node[0].input[0] = "<script>x"
    page = intaglio.Model(network)._repr_html_()
    assert "&lt;script&gt;x" in page and "<script>" not in page


def test_speeds_of_this_machine(digits):
    measured, seconds = intaglio.Hardware("x86-vnni").measure(digits.model())
    assert measured.name == "x86-vnni-measured" and 0 < seconds < 1
    assert digits.model().check(measured)
    with pytest.raises(intaglio.BadArgument, match="runs nothing as integers"):
        intaglio.Hardware("float").measure(digits.model())
