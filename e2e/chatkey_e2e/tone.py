"""Replaces a page's microphone by a tone, and measures how loud a tone is in the sound that the page receives."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import BrowserContext, Page

SCRIPT: Final = """
(hertz) => {
  const spy = { analyser: null, most: -200 };
  const context = new AudioContext();
  const oscillator = new OscillatorNode(context, { frequency: hertz });
  oscillator.start();
  navigator.mediaDevices.getUserMedia = async () => {
    const sink = context.createMediaStreamDestination();
    oscillator.connect(sink);
    await context.resume();
    return sink.stream;
  };
  const Peer = RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer {
    constructor(...given) {
      super(...given);
      this.addEventListener("track", ({ track }) => {
        const analyser = new AnalyserNode(context, { fftSize: 8192, smoothingTimeConstant: 0 });
        context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
        spy.analyser = analyser;
      });
    }
  };
  const decibels = () => {
    if (!spy.analyser) return { loudest: -200, hertz: 0 };
    const bins = new Float32Array(spy.analyser.frequencyBinCount);
    spy.analyser.getFloatFrequencyData(bins);
    let best = 1;
    bins.forEach((level, bin) => { if (bin > 8 && level > bins[best]) best = bin; });
    return { loudest: bins[best], hertz: (best * context.sampleRate) / spy.analyser.fftSize };
  };
  setInterval(() => { spy.most = Math.max(spy.most, decibels().loudest); }, 20);
  window.chatkeyTone = { decibels, spy };
}
"""

NOTHING: Final = -200.0
"""The level of a page that has never received any sound."""

AUDIBLE: Final = -60.0
"""A tone is heard above this level in decibels, and silence is below it."""


def play_instead_of_microphone(page: Page | BrowserContext, hertz: int) -> None:
    """Give the pages that are opened from now on a microphone that hears this tone."""
    page.add_init_script(f"({SCRIPT})({hertz})")


def heard(page: Page, hertz: int, *, timeout: float) -> float:
    """Wait until the page receives the tone, and return the frequency that the spectrum shows."""
    found = page.wait_for_function(
        """([hertz, audible]) => {
          const { loudest, hertz: heard } = chatkeyTone.decibels();
          return loudest > audible && Math.abs(heard - hertz) < 12 ? heard : false;
        }""",
        arg=[hertz, AUDIBLE],
        timeout=timeout,
    )
    return float(found.json_value())


def silent_after(page: Page, *, since: float, timeout: float) -> float:
    """Wait until the page receives no sound. Return the milliseconds since the time `since` of the machine's clock."""
    found = page.wait_for_function(
        "([audible, since]) => chatkeyTone.decibels().loudest < audible ? Math.max(1, Date.now() - since) : false",
        arg=[AUDIBLE, since],
        timeout=timeout,
        polling=20,
    )
    return float(found.json_value())


def loudest(page: Page) -> float:
    """Return the level of the loudest tone that the page has ever received, or `NOTHING`."""
    return float(page.evaluate("() => chatkeyTone.spy.most"))
