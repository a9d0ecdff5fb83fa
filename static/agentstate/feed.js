// The socket of a page: watches topics, says which sessions moved, and how old what we know is.
// Frames are pointers; what they point at is fetched over HTTP. Nothing is lost while it reconnects: it says what it has seen.

const FIRST = 500, LONGEST = 30_000, SILENT = 13_000; // ms; the server beats every 5 s
const FRESH = 60_000, SOONEST = 5_000; // ms: a server that restarts is back within a minute, and somebody waits for it
const NOT_SIGNED_IN = 4401;

export class Feed {
  constructor(topics, seen, on) {
    Object.assign(this, { topics, seen, on, tries: 0, heard: performance.now(), state: "new" });
    this.connect();
    setInterval(() => this.watchdog(), 1000);
    addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => { if (!document.hidden && this.state === "lost") this.again(); });
  }

  get age() { return performance.now() - this.heard; }

  connect() {
    clearTimeout(this.timer);
    this.timer = null;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = this.socket = new WebSocket(`${scheme}://${location.host}/live/`);
    this.waiting = new Set(this.topics);
    socket.onopen = () => socket.send(JSON.stringify({ watch: this.topics, seen: this.seen() }));
    socket.onmessage = (message) => socket === this.socket && this.hear(JSON.parse(message.data));
    socket.onclose = (event) => socket === this.socket && this.lose(event.code);
  }

  hear(frame) {
    this.heard = performance.now();
    if (frame.kind === "changed") this.on.changed(frame.session, frame.seq);
    if (frame.kind === "writing") this.on.writing(frame);
    if (frame.kind === "notices") this.on.notices?.(frame);
    if (frame.kind === "watching" || frame.kind === "refused") {
      this.waiting.delete(frame.topic);
      if (frame.kind === "watching") this.on.watching(frame.topic, frame.sessions);
      if (!this.waiting.size) { this.tries = 0; this.move("live"); }
    }
  }

  lose(code) {
    this.socket = null;
    if (code === NOT_SIGNED_IN) { location.reload(); return; } // the server sends whoever is signed out to the door
    this.move(this.state === "new" ? "new" : "lost");
    const pause = Math.min(this.age < FRESH ? SOONEST : LONGEST, FIRST * 2 ** this.tries++) * (0.5 + Math.random() / 2);
    this.due = performance.now() + pause;
    this.timer = setTimeout(() => this.connect(), pause);
  }

  again() { if (!this.socket) this.connect(); }

  watchdog() {
    if (this.socket && this.age > SILENT && this.socket.readyState !== WebSocket.CONNECTING) {
      const dead = this.socket;
      this.lose(0);
      dead.close();
    }
  }

  move(state) {
    if (state === this.state) return;
    this.state = state;
    this.on.state(state);
  }
}
