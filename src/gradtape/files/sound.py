"""Sound: WAV files of 16-bit PCM, as numbers from -1 to 1."""

from __future__ import annotations

import io
import struct
import wave
from typing import NamedTuple

import numpy as np

from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import TensorLike
from ..ops.known import afford, known, static_number
from ..ops.scalars import integer
from .contents import one_string, string_tensor


class DecodeWav(NamedTuple):
    """The samples, of shape (samples, channels), and how many there are in a second."""

    audio: Tensor
    sample_rate: Tensor


def decode_wav(
    contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The sound of a WAV file, float32 from -1 to 1.

    Args:
        desired_channels: so many are given: further ones are left out, missing ones are copies of the last. -1 for
            those of the file.
        desired_samples: so many are given: further ones are left out, missing ones are 0. -1 for those of the file.

    Raises:
        InvalidArgumentError: if the contents are no WAV file of 16-bit PCM.

    >>> sound = decode_wav(encode_wav([[0.5], [-0.5]], 8000))
    >>> sound.audio.numpy().tolist(), int(sound.sample_rate)
    ([[0.5], [-0.5]], 8000)
    """
    channels_wanted = integer("decode_wav", "desired_channels", desired_channels, -1)
    samples_wanted = integer("decode_wav", "desired_samples", desired_samples, -1)
    data = one_string("decode_wav", "contents", contents)
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate, count = file.getparams()[:4]
            if width != 2:
                raise InvalidArgumentError(
                    f"decode_wav: samples of {8 * width} bits: only 16-bit PCM is decoded"
                )
            if not 0 < rate < 1 << 31:
                raise InvalidArgumentError(f"decode_wav: {rate} samples a second")
            raw = file.readframes(count)
    except (wave.Error, EOFError, RuntimeError, struct.error) as error:
        raise InvalidArgumentError(
            f"decode_wav: the contents are no WAV file of 16-bit PCM: {error}"
        ) from error
    samples = np.frombuffer(raw[: len(raw) // (2 * channels) * (2 * channels)], "<i2").reshape(-1, channels)
    if len(samples) < count:
        raise InvalidArgumentError(f"decode_wav: the file ends early: {len(samples)} of {count} samples")
    audio = (samples / np.float32(32768)).astype(np.float32)
    wanted = (
        len(audio) if samples_wanted == -1 else samples_wanted,
        channels if channels_wanted == -1 else channels_wanted,
    )
    afford("decode_wav", wanted, 4)
    return DecodeWav(wrap(_resized(audio, *wanted)), wrap(np.asarray(rate, np.int32)))


def _resized(audio: np.ndarray, samples: int, channels: int) -> np.ndarray:
    if audio.shape == (samples, channels):
        return audio
    out = np.zeros((samples, channels), np.float32)
    part = audio[:samples, :channels]
    out[: len(part), : part.shape[1]] = part
    if channels > audio.shape[1]:
        out[: len(part), audio.shape[1] :] = part[:, -1:]
    return out


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Sound as a WAV file of 16-bit PCM, in a string tensor.

    Args:
        audio: float32 (an array is converted) from -1 to 1, of shape (samples, channels); what is beyond is clipped.
        sample_rate: how many samples there are in a second.

    Raises:
        InvalidArgumentError: if the shape or dtype do not fit.

    >>> encode_wav([[0.0]], 8000).numpy()[:4]
    b'RIFF'
    """
    given = convert(
        audio, None if hasattr(type(audio), "_read") or type(audio) is Tensor else np.dtype(np.float32)
    )
    array = known("encode_wav", "the audio", given._array)
    if array.dtype != np.float32 or array.ndim != 2 or not array.shape[1]:
        raise InvalidArgumentError(
            f"encode_wav: audio must be float32 of shape (samples, channels), not {array.dtype} of {array.shape}"
        )
    rate = static_number("encode_wav: sample_rate", sample_rate)
    if not 0 < rate * array.shape[1] < 1 << 31:
        raise InvalidArgumentError(f"encode_wav: a WAV file cannot have {rate} samples a second")
    samples = np.clip(np.rint(array * np.float32(32768)), -32768, 32767).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((array.shape[1], 2, rate, len(array), "NONE", "not compressed"))
        file.writeframes(samples.tobytes())
    return string_tensor(buffer.getvalue())
