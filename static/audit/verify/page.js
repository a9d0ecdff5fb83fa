// The page: takes the files, has the worker verify, shows what it found. The worker is loaded with the page, so that
// verifying asks the network for nothing.
import { Result } from "./result.js";

const element = (id) => document.getElementById(id);
const form = element("job"), result = new Result(), SMALL = 1_000_000; // bytes of a key, policy, head or receipt
let worker = started(), dropped = [], beside = null;

form.hidden = false;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify().catch((error) => result.broke(error.message));
});
element("cancel").addEventListener("click", () => {
  worker.terminate(); // whatever it is busy with
  worker = started();
  busy(false);
  result.cancelled();
  element("start").focus();
});
// Else choosing the same file again, after it was changed, would change nothing.
element("bundle").addEventListener("click", () => { element("bundle").value = ""; });
element("bundle").addEventListener("change", () => take([...element("bundle").files]));
for (const name of ["dragenter", "dragover"]) addEventListener(name, (event) => hover(event, true));
for (const name of ["dragleave", "drop"]) addEventListener(name, (event) => hover(event, false));
addEventListener("drop", (event) => {
  // A file field takes what is dropped on it by itself.
  const field = event.target.closest?.('input[type="file"]');
  if (field && field.id !== "bundle") return;
  event.preventDefault();
  element("bundle").value = "";
  take([...event.dataTransfer.files]);
});

function started() {
  const fresh = new Worker(document.body.dataset.worker, { type: "module" });
  fresh.addEventListener("message", ({ data }) => heard(data));
  fresh.addEventListener("error", (event) => {
    event.preventDefault();
    busy(false);
    result.broke(event.message || "it could not be started");
  });
  return fresh;
}

function hover(event, over) {
  if (over) event.preventDefault(); // else the browser opens what is dropped
  element("drop").classList.toggle("over", over);
}

/** Of several files the one that ends in .vkey is a key beside the bundle. */
function take(files) {
  beside = files.find((file) => file.name.endsWith(".vkey")) ?? null;
  dropped = files.filter((file) => file !== beside);
  const bundle = dropped[0];
  const key = beside ? `, and the key ${beside.name} beside it` : "";
  element("bundle-is").textContent = bundle ? `${bundle.name}, ${size(bundle.size)}${key}` : "";
  wrong("bundle", false);
}

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Mark a field that lacks something, and go there. */
function wrong(name, is) {
  element(`${name}-wrong`).hidden = !is;
  element(name).toggleAttribute("aria-invalid", is);
  if (is) element(name).focus();
}

async function verify() {
  const file = dropped[0];
  wrong("bundle", !file);
  if (!file) return;
  const trust = await trusted();
  wrong("trust", !trust);
  if (!trust) return;
  const job = { file, ...trust, demand: await demand() };
  result.clear();
  busy(true);
  element("so-far").textContent = "Starting";
  worker.postMessage(job);
}

/** {trusted: a vkey or the bytes of a policy, source}; null if there is neither. */
async function trusted() {
  const typed = element("trust").value.trim();
  if (typed) return read(new TextEncoder().encode(typed), "given on the page");
  const [own] = element("trust-file").files;
  if (own) return read(await bytes(own), `given on the page, from ${own.name}`);
  return beside && read(await bytes(beside), `taken from ${beside.name}, beside the bundle`);
}

/** A vkey is one word; a policy has lines of several. */
function read(data, source) {
  const text = new TextDecoder().decode(data).trim();
  return text && { trusted: /\s/.test(text) ? data : text, source };
}

async function demand() {
  const file = async (id) => (element(id).files[0] ? bytes(element(id).files[0]) : undefined);
  const number = (id) => (element(id).value === "" ? undefined : element(id).valueAsNumber);
  const hours = number("max-age");
  return {
    session: element("session").value.trim(),
    held: await file("held"),
    heldProof: await file("consistency"),
    receipt: await file("receipt"),
    minSize: number("min-size"),
    maxAge: hours === undefined ? undefined : hours * 3600,
  };
}

async function bytes(file) {
  return new Uint8Array(await file.slice(0, SMALL).arrayBuffer());
}

function heard(data) {
  if (data.progress) return soFar(data.progress);
  busy(false);
  if (data.unable) result.unable(data.unable);
  else if (data.proof) result.proof();
  else result.show(data);
}

function soFar({ bytes: done, total, entries }) {
  element("bar").max = total || 1;
  element("bar").value = done;
  element("so-far").textContent = entries ? `Checked ${entries.toLocaleString("en")} entries` : `Read ${size(done)} of ${size(total)}`;
}

function busy(is) {
  element("working").hidden = element("cancel").hidden = !is;
  element("start").disabled = is;
  element("bar").value = 0;
  if (is) element("cancel").focus();
  element("polite").textContent = is ? "Verifying" : "";
}
