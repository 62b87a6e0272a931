"""Replaces a page's microphone by a tone, and measures the sound that the page receives."""

from __future__ import annotations

import json
from typing import Final

from playwright.sync_api import BrowserContext, Page

from chatkey_stack.browsers.launch import FAKE_HERTZ_OF_FIREFOX

SCRIPT: Final = """
({ hertz, fake, nothing, audible }) => {
  const RATE = 48000;
  const opened = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  const oscillate = async () => {
    const context = new AudioContext();
    const sink = context.createMediaStreamDestination();
    const oscillator = new OscillatorNode(context, { frequency: hertz });
    oscillator.connect(sink);
    oscillator.start();
    addEventListener("click", () => context.resume(), true); // a reloaded page may only start it in a click
    await context.resume();
    return sink.stream;
  };
  const wave = () => {
    const header = [0x46464952, 36 + 2 * RATE, 0x45564157, 0x20746d66, 16, 0x10001, RATE, 2 * RATE, 0x100002,
      0x61746164, 2 * RATE];
    const samples = Int16Array.from({ length: RATE }, (_, i) => 16000 * Math.sin((2 * Math.PI * hertz * i) / RATE));
    return new Blob([Uint32Array.from(header), samples], { type: "audio/wav" });
  };
  const replay = async () => {
    const audio = new Audio(URL.createObjectURL(wave()));
    audio.loop = true;
    await audio.play();
    return audio.mozCaptureStream();
  };
  // In Firefox, an AudioContext only runs on a machine with a sound card.
  const isFirefox = "mozCaptureStream" in HTMLMediaElement.prototype;
  navigator.mediaDevices.getUserMedia = !isFirefox ? oscillate : hertz === fake ? opened : replay;

  const meter = { receiver: null, energy: 0, seconds: 0, level: nothing, most: nothing, hertz: 0 };
  const Peer = RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer {
    constructor(...given) {
      super(...given);
      this.addEventListener("track", ({ receiver }) => Object.assign(meter, { receiver, energy: 0, seconds: 0 }));
    }
  };
  const measure = async () => {
    const stats = meter.receiver ? [...(await meter.receiver.getStats()).values()] : [];
    const { totalAudioEnergy: energy = 0, totalSamplesDuration: seconds = 0 } =
      stats.find(({ type }) => type === "inbound-rtp") ?? {};
    const power = seconds > meter.seconds ? (energy - meter.energy) / (seconds - meter.seconds) : 0;
    const measured = Math.max(nothing, 10 * Math.log10(power));
    // After a mute, the statistics need 0.7 s to fall. Each packet also carries its level.
    const packet = meter.receiver?.getSynchronizationSources()[0]?.audioLevel ?? 1;
    const level = Math.max(nothing, Math.min(measured, 20 * Math.log10(packet)));
    Object.assign(meter, { energy, seconds, level, most: Math.max(meter.most, measured) });
    setTimeout(measure, 60); // Chromium answers the same for 50 ms
  };
  measure();

  const record = async (track) => {
    const recorder = new MediaRecorder(new MediaStream([track]));
    const recorded = new Promise((resolve) => recorder.addEventListener("dataavailable", resolve, { once: true }));
    recorder.start();
    setTimeout(() => recorder.state === "inactive" || recorder.stop(), 400);
    return (await recorded).data;
  };
  const strongest = async (recorded) => {
    const context = new OfflineAudioContext(1, RATE / 5, RATE);
    const analyser = new AnalyserNode(context, { fftSize: 8192 });
    const buffer = await context.decodeAudioData(await recorded.arrayBuffer());
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(analyser).connect(context.destination);
    source.start();
    await context.startRendering();
    const bins = new Float32Array(analyser.frequencyBinCount);
    analyser.getFloatFrequencyData(bins);
    return (bins.indexOf(Math.max(...bins)) * RATE) / analyser.fftSize;
  };
  const listen = async () => {
    const recorded = meter.level > audible ? await record(meter.receiver.track) : { size: 0 };
    const hertz = recorded.size > 0 ? await strongest(recorded) : 0;
    meter.hertz = meter.level > audible ? hertz : 0;
    setTimeout(listen, 60);
  };
  listen();
  window.chatkeyTone = meter;
}
"""

NOTHING: Final = -200.0
"""The level of a page that has never received any sound."""

AUDIBLE: Final = -60.0
"""A tone is heard above this level in decibels, and silence is below it."""


def play_instead_of_microphone(page: Page | BrowserContext, hertz: int) -> None:
    """Give the pages that are opened from now on a microphone that hears this tone.

    In Firefox, the page's policy must allow media from a blob, unless the tone is the one of Firefox's fake microphone.
    """
    given = {"hertz": hertz, "fake": FAKE_HERTZ_OF_FIREFOX, "nothing": NOTHING, "audible": AUDIBLE}
    page.add_init_script(f"({SCRIPT})({json.dumps(given)})")


def heard(page: Page, hertz: int, *, timeout: float) -> float:
    """Wait until the page receives the tone, and return the strongest frequency of the spectrum."""
    found = page.wait_for_function(
        "([hertz]) => Math.abs(chatkeyTone.hertz - hertz) < 12 && chatkeyTone.hertz",
        arg=[hertz],
        timeout=timeout,
    )
    return float(found.json_value())


def silent_after(page: Page, *, since: float, timeout: float) -> float:
    """Wait until the page receives no sound. Return the milliseconds since the time `since` of the machine's clock."""
    found = page.wait_for_function(
        "([audible, since]) => chatkeyTone.level < audible ? Math.max(1, Date.now() - since) : false",
        arg=[AUDIBLE, since],
        timeout=timeout,
        polling=20,
    )
    return float(found.json_value())


def loudest(page: Page) -> float:
    """Return the level of the loudest sound that the page has ever received, or `NOTHING`."""
    return float(page.evaluate("() => chatkeyTone.most"))
