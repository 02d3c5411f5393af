"""Sessions of ONNX Runtime whose 8-bit products are exact on every x86 machine: without VNNI, its kernels else add two products in 16
bits, which saturate (session.x64quantprecision, in onnxruntime_session_options_config_keys.h). With VNNI the option does nothing."""
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

PRECISION = "session.x64quantprecision"


class Inexact(Exception):
    """ONNX Runtime takes the model, but not with the option (1.32: "Attempt to replace the existing tensor")."""


def exact_options():
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(PRECISION, "1")
    options.log_severity_level = 3
    return options


def open_session(model, options):
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def exact_session(model, options):
    try:
        return open_session(model, options)
    except Fail as failure:
        options.add_session_config_entry(PRECISION, "0")
        open_session(model, options)  # fails, too, where the model is at fault
        raise Inexact("no VNNI, and ONNX Runtime cannot make its products exact without") from failure
