// Microphones, loudspeakers and connections that do what a test says, and write down what the page does with them.

export class Media extends EventTarget {
  /** What the browser lists, as `enumerateDevices` does. */
  devices = [];
  /** The error of the next microphone, if any. */
  refusal = null;
  permission = "granted";
  isDuplicate = false; // another tab has the call
  isPlaying = true; // the browser plays sound without a click
  stats = async () => new Map();
  streams = [];
  peers = [];
  audio = null;

  get globals() {
    const media = this;
    return {
      navigator: {
        mediaDevices: this,
        permissions: { query: async () => ({ state: this.permission }) },
        locks: { request: async (_name, _options, granted) => granted(this.isDuplicate ? null : {}) },
      },
      RTCPeerConnection: class extends Peer {
        constructor() {
          super(media);
          media.peers.push(this);
        }
      },
      Audio: class extends EventTarget {
        sinkId = "";
        constructor() {
          super();
          media.audio = this;
        }
        async play() {
          if (!media.isPlaying) throw new DOMException("A click is needed.", "NotAllowedError");
        }
        async setSinkId(id) {
          this.sinkId = id;
        }
        pause() {}
      },
      AudioContext: Loudness,
      MediaStream: class {},
      DOMException,
      btoa,
    };
  }

  /** The connection that was made last. */
  get peer() {
    return this.peers.at(-1);
  }

  /** The microphone that was opened last. */
  get track() {
    return this.streams.at(-1).track;
  }

  async getUserMedia({ audio }) {
    if (this.refusal) throw this.refusal;
    const stream = new Stream(new Track(audio.deviceId?.exact ?? audio.deviceId ?? "built-in"));
    this.streams.push(stream);
    return stream;
  }

  async enumerateDevices() {
    return this.devices;
  }
}

class Track extends EventTarget {
  enabled = true;
  isStopped = false;

  constructor(deviceId) {
    super();
    this.deviceId = deviceId;
  }

  getSettings() {
    return { deviceId: this.deviceId };
  }

  stop() {
    this.isStopped = true;
  }
}

class Stream {
  constructor(track) {
    this.track = track;
  }

  getTracks() {
    return [this.track];
  }

  getAudioTracks() {
    return [this.track];
  }
}

class Peer extends EventTarget {
  connectionState = "new";
  iceGatheringState = "complete";
  isClosed = false;
  remoteDescription = null;
  candidates = [];
  senders = [];

  constructor(media) {
    super();
    this.media = media;
  }

  addTrack(track) {
    this.senders.push({
      track,
      replaceTrack(other) {
        this.track = other;
      },
    });
  }

  getSenders() {
    return this.senders;
  }

  getStats() {
    return this.media.stats();
  }

  async setLocalDescription() {
    this.localDescription = { type: "offer", sdp: "the offer" };
  }

  async setRemoteDescription(description) {
    this.remoteDescription = description;
  }

  async addIceCandidate(candidate) {
    this.candidates.push(candidate);
  }

  /** Change the state of the connection, as the browser does. */
  become(state) {
    this.connectionState = state;
    this.dispatchEvent(new Event("connectionstatechange"));
  }

  close() {
    this.isClosed = true;
  }
}

class Loudness {
  createAnalyser() {
    return { fftSize: 0, getByteTimeDomainData: (samples) => samples.fill(128) };
  }

  createMediaStreamSource() {
    return { connect() {} };
  }

  close() {}
}
