"""Sessions of ONNX Runtime whose 8-bit products are exact on every x86 machine: without VNNI, its kernels else add two products in 16
bits, which saturate (session.x64quantprecision, in onnxruntime_session_options_config_keys.h). With VNNI the option does nothing."""
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import Fail


class Inexact(Exception):
    """ONNX Runtime 1.32 cannot rewrite some models so: "Attempt to replace the existing tensor"."""


def exact_options():
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    return options


def exact_session(model, options):
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Fail as failure:
        raise Inexact("no VNNI, and ONNX Runtime cannot make its products exact without") from failure
