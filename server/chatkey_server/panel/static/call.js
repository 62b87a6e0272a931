// The sound of the call that this page has accepted: the microphone, the offer, and the caller's verified answer.

/**
 * @typedef {{ call_id: string, action: "ask" | "answer" | "candidate", sdp?: string, nonce?: string,
 *   fingerprint?: string, jkt?: string, candidate?: string, id?: string }} Signal
 * @typedef {"connecting" | "verified" | "connected" | "interrupted" | "silent"} State
 * @typedef {{ kind: MediaDeviceKind, id: string, label: string, isUsed: boolean }} Device
 * @typedef {{ isMuted: boolean, microphone: string, speaker: string }} Choices
 * @typedef {{ send: (frame: object) => void, show: (state: State) => void, fail: (code: string) => void,
 *   warn: (code: string) => void, level: (level: number) => void, devices: (devices: Device[]) => void,
 *   keep: (choices: Choices) => void }} Page
 */

const GATHER_MS = 1_000;
const CONNECT_MS = 15_000;
const LOST_MS = 20_000;
const INSPECT_MS = 2_000;
const LEVEL_MS = 100;
const SDP_CHARS = 8_000; // the server closes the socket after a longer description
const LOCAL_NETWORK = ["local-network", "loopback-network", "local-network-access"]; // the last one before Chrome 145
const UNCONNECTED = "call_unconnected";

/** Why a call ended, by code: what the agent reads if the reason is on this side, and if it is on the caller's. */
const REASONS = /** @type {Record<string, [string, string]>} */ ({
  microphone_denied: [
    "Calls need your microphone. Allow it in your browser.",
    "The caller's browser was not allowed to use the microphone.",
  ],
  microphone_missing: ["No microphone was found.", "The caller has no microphone."],
  microphone_busy: ["Another program is using the microphone.", "The caller's microphone is used by another program."],
  microphone_lost: ["Your microphone was disconnected.", "The caller's microphone was disconnected."],
  microphone_unavailable: [
    "The panel cannot use a microphone here. Open it over https, and allow the microphone for frames.",
    "The caller's browser cannot use a microphone.",
  ],
  call_unconnected: ["The sound could not be connected.", "The sound could not be connected."],
  call_local_network: [
    "The sound did not connect. Your browser keeps this page from your local network, which may be the cause. " +
      "Allow access in the site settings.",
    "The sound could not be connected.",
  ],
  call_unsafe: [
    "The answer of the caller does not fit. Something interferes with the call.",
    "Something interferes with the call.",
  ],
  call_lost: ["The call was lost.", "The caller was away for too long."],
  provider_off: ["The business was switched off.", "The business was switched off."],
});

/** The reason in words, or an empty text if somebody has hung up. @param {string | undefined} code @param {boolean} isOurs */
export function words(code, isOurs) {
  if (!code) return "";
  const known = code.startsWith("proof_") ? "call_unsafe" : code === "microphone_dismissed" ? "microphone_denied" : code;
  const [ours, theirs] = REASONS[known] ?? ["The call has ended.", "Something went wrong."];
  return isOurs ? ours : `${theirs} The call has ended.`;
}

/** One accepted call. It lives until the call has ended, also while the page's socket is lost. */
export class Call {
  /** @param {string} id @param {RTCConfiguration} configuration @param {Page} page @param {Choices} choices */
  constructor(id, configuration, page, choices) {
    this.id = id;
    this.choices = choices;
    this.configuration = configuration;
    this.page = page;
    this.isOver = false;
    this.nonce = "";
    this.asked = /** @type {string | undefined} */ ("");
    this.offered = /** @type {object | null} */ (null); // not answered yet
    this.ignored = 0; // candidates that the browser could not read
    this.peer = /** @type {RTCPeerConnection | null} */ (null);
    this.given = /** @type {string[]} */ ([]); // the answer to the last offer, and candidates
    this.stream = /** @type {MediaStream | null} */ (null);
    this.audio = new Audio();
    this.audio.addEventListener("pause", () => this.isOver || this.play()); // the system may have paused it
    this.due = /** @type {number | undefined} */ (undefined);
    this.measuring = /** @type {number | undefined} */ (undefined);
    this.context = /** @type {AudioContext | null} */ (null);
    this.list = this.list.bind(this);
    this.microphone = this.open();
    this.expect(CONNECT_MS);
    page.show("connecting");
  }

  async open() {
    const { microphone: id, speaker } = this.choices;
    try {
      this.take(await microphone(id ? { deviceId: id } : true));
      if (speaker) await this.audio.setSinkId(speaker).catch(() => {}); // it was unplugged meanwhile
    } catch (error) {
      return this.fail(reason(error));
    }
    navigator.mediaDevices.addEventListener("devicechange", this.list);
    this.list(); // the call must not wait for the list, which Firefox may not send
  }

  /** Use this stream as the microphone. @param {MediaStream} stream */
  take(stream) {
    if (this.isOver) return stop(stream);
    stop(this.stream);
    this.stream = stream;
    this.mute(this.choices.isMuted);
    const [track] = stream.getAudioTracks();
    track.addEventListener("ended", () => this.replace());
    for (const sender of this.peer?.getSenders() ?? []) sender.replaceTrack(track);
    this.measure(stream);
  }

  /** The microphone was unplugged, or its permission was withdrawn. */
  async replace() {
    try {
      this.take(await navigator.mediaDevices.getUserMedia({ audio: true }));
    } catch {
      this.fail("microphone_lost");
    }
  }

  /** Use another microphone or speaker. @param {Device["kind"]} kind @param {string} id */
  async use(kind, id) {
    try {
      if (kind === "audiooutput") await this.audio.setSinkId(id);
      else this.take(await navigator.mediaDevices.getUserMedia({ audio: { deviceId: { exact: id } } }));
      this.keep(kind === "audiooutput" ? { speaker: id } : { microphone: id });
    } catch (error) {
      this.page.warn(reason(error));
    }
    this.list();
  }

  /** Show the devices to choose from. Some browsers list no speakers, or cannot use another one. */
  async list() {
    const found = await navigator.mediaDevices.enumerateDevices();
    if (this.isOver || !this.stream) return;
    /** @type {Partial<Record<MediaDeviceKind, string>>} */
    const used = {
      audioinput: this.stream.getAudioTracks()[0].getSettings().deviceId,
      audiooutput: "setSinkId" in this.audio ? this.audio.sinkId || "default" : undefined,
    };
    const usable = found.filter(({ kind, label }) => label && used[kind] !== undefined);
    this.page.devices(usable.map(({ kind, deviceId: id, label }) => ({ kind, id, label, isUsed: id === used[kind] })));
  }

  /** @param {Signal} signal */
  async hear(signal) {
    try {
      if (signal.action === "ask") await this.offer(signal.id);
      else if (signal.action === "answer") await this.accept(signal);
      else if (signal.candidate) await this.add(signal.candidate);
    } catch {
      this.fail(UNCONNECTED);
    }
  }

  /** The caller asks for an offer at the beginning, and after a reload. @param {string} [id] */
  async offer(id) {
    if (id === this.asked) {
      if (this.offered) this.send(this.offered); // the server passes a question on again after a reconnection
      return;
    }
    this.asked = id;
    this.offered = null;
    await this.microphone;
    if (this.isOver || !this.stream || id !== this.asked) return;
    this.expect(CONNECT_MS);
    this.given = [];
    this.peer?.close();
    const peer = (this.peer = new RTCPeerConnection(this.configuration));
    for (const track of this.stream.getTracks()) peer.addTrack(track, this.stream);
    peer.addEventListener("track", ({ track }) => this.play(track));
    peer.addEventListener("connectionstatechange", () => this.changed(peer));
    try {
      await peer.setLocalDescription();
      await gathered(peer);
    } catch (error) {
      if (peer === this.peer) throw error; // otherwise a newer question has closed it
    }
    if (peer !== this.peer || !peer.localDescription) return;
    if (peer.localDescription.sdp.length > SDP_CHARS) return this.fail(UNCONNECTED);
    this.nonce = token();
    this.offered = { action: "offer", sdp: peer.localDescription.sdp, nonce: this.nonce };
    this.send(this.offered);
    peer.addEventListener("icecandidate", ({ candidate }) => {
      if (candidate?.candidate) this.send({ action: "candidate", candidate: candidate.candidate });
    });
  }

  /** The server passes on verified answers only, to the newest offer. @param {Signal} signal */
  async accept({ sdp, nonce, fingerprint }) {
    if (!this.peer || nonce !== this.nonce || !sdp || !fingerprint || !sdp.toUpperCase().includes(fingerprint)) {
      this.fail("call_unsafe");
      return;
    }
    this.offered = null;
    this.given.push(sdp);
    this.page.show("verified");
    await this.peer.setRemoteDescription({ type: "answer", sdp });
  }

  /** @param {string} candidate */
  async add(candidate) {
    this.given.push(candidate);
    try {
      await this.peer?.addIceCandidate({ candidate, sdpMLineIndex: 0 });
    } catch {
      this.ignored++; // other candidates may connect the call
    }
  }

  /** @param {boolean} isMuted */
  mute(isMuted) {
    this.keep({ isMuted });
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = !isMuted;
  }

  /** The person's choices also hold after a reload. @param {Partial<Choices>} choices */
  keep(choices) {
    Object.assign(this.choices, choices);
    this.page.keep(this.choices);
  }

  /** @param {MediaStreamTrack} [track] */
  async play(track) {
    if (track) this.audio.srcObject = new MediaStream([track]);
    try {
      await this.audio.play();
    } catch {
      if (!this.isOver) this.page.show("silent");
    }
  }

  close() {
    this.isOver = true;
    clearTimeout(this.due);
    clearInterval(this.measuring);
    this.peer?.close();
    this.audio.pause();
    this.audio.srcObject = null;
    this.context?.close();
    navigator.mediaDevices?.removeEventListener("devicechange", this.list);
    stop(this.stream);
  }

  /** @param {RTCPeerConnection} peer */
  changed(peer) {
    if (this.isOver || peer !== this.peer) return;
    if (peer.connectionState === "connected") {
      clearTimeout(this.due);
      this.due = undefined;
      this.page.show("connected");
    } else if (peer.connectionState === "disconnected" || peer.connectionState === "failed") {
      this.page.show("interrupted");
      if (this.due === undefined) this.expect(LOST_MS); // otherwise it connects, or is interrupted already
    }
  }

  /** @param {number} ms */
  expect(ms) {
    clearTimeout(this.due);
    this.due = setTimeout(() => this.late(), ms);
  }

  /** Find out why the sound is not connected. The call must also end if the browser fails or does not answer. */
  async late() {
    const due = (this.due = setTimeout(() => this.fail(UNCONNECTED), INSPECT_MS));
    const code = (await this.isBlocked()) ? "call_local_network" : UNCONNECTED;
    if (due === this.due) this.fail(code); // otherwise it has connected, or there is a new offer
  }

  /**
   * Return whether the browser keeps the call from the caller's candidates in the local network. Without the
   * permission, a browser drops such candidates and reports no error. Other reasons also drop candidates, so the
   * permission must be denied.
   */
  async isBlocked() {
    try {
      const stats = [...((await this.peer?.getStats())?.values() ?? [])];
      const used = new Set(stats.filter(({ type }) => type === "remote-candidate").map(({ port }) => port));
      if (!hostPorts(this.given).some((port) => !used.has(port))) return false;
    } catch {
      return false; // without statistics, the reason stays unknown
    }
    return (await Promise.all(LOCAL_NETWORK.map(permission))).includes("denied");
  }

  /** @param {string} code */
  fail(code) {
    if (!this.isOver) this.page.fail(code);
  }

  /** @param {object} members */
  send(members) {
    this.page.send({ type: "signal", call_id: this.id, ...members });
  }

  /** @param {MediaStream} stream */
  measure(stream) {
    clearInterval(this.measuring);
    this.context?.close();
    this.context = new AudioContext();
    const analyser = this.context.createAnalyser();
    analyser.fftSize = 256;
    this.context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Uint8Array(analyser.fftSize);
    this.measuring = setInterval(() => {
      analyser.getByteTimeDomainData(samples);
      this.page.level(Math.max(...samples.map((sample) => Math.abs(sample - 128))) / 128);
    }, LEVEL_MS);
  }
}

/** In the lab, a computer without a microphone plays a few notes, so that the caller hears something. */
async function microphone(/** @type {MediaStreamConstraints["audio"]} */ audio) {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    const isMissing = error instanceof DOMException && error.name === "NotFoundError";
    if (isMissing && "lab" in document.body.dataset) return notes([659, 784, 988]);
    throw error;
  }
}

/** @param {number[]} melody in hertz */
function notes(melody) {
  const context = new AudioContext();
  const sink = context.createMediaStreamDestination();
  const oscillator = new OscillatorNode(context);
  oscillator.connect(new GainNode(context, { gain: 0.2 })).connect(sink);
  for (let at = 0; at < 600; at++) oscillator.frequency.setValueAtTime(melody[at % melody.length], at / 2);
  oscillator.start();
  return sink.stream;
}

/** @param {MediaStream | null} stream */
function stop(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

/** @param {RTCPeerConnection} peer @returns {Promise<void>} */
function gathered(peer) {
  return new Promise((resolve) => {
    const look = () => peer.iceGatheringState === "complete" && resolve();
    peer.addEventListener("icegatheringstatechange", look);
    setTimeout(resolve, GATHER_MS);
    look();
  });
}

function token() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** The ports of the host candidates over UDP (RFC 8839 section 5.1). @param {string[]} texts */
function hostPorts(texts) {
  const candidate = /candidate:\S+ \d+ udp \d+ \S+ (\d+) typ host(?=\s|$)/gi;
  return texts.flatMap((text) => [...text.matchAll(candidate)].map(([, port]) => Number(port)));
}

/** The state of a permission, or null if the browser does not know it. @param {string} name */
async function permission(name) {
  try {
    return (await navigator.permissions.query({ name: /** @type {PermissionName} */ (name) })).state;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
function reason(error) {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError") return "microphone_denied";
  if (name === "NotFoundError" || name === "OverconstrainedError") return "microphone_missing";
  if (name === "NotReadableError" || name === "AbortError") return "microphone_busy";
  return "microphone_unavailable";
}
