// Makes a piece of the page equal to a fresh copy by touching only what differs, so that focus, selection, scroll and
// what somebody typed stay. Children are matched by id, else by place and kind.

const kept = new Set(["open"]); // what the reader did to an element, not the server

function attributes(from, to) {
  for (const { name, value } of to.attributes) if (!kept.has(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !kept.has(name)) from.removeAttribute(name);
}

function children(from, to) {
  const byId = new Map();
  for (const child of from.children) if (child.id) byId.set(child.id, child);
  let at = from.firstChild;
  for (const fresh of [...to.childNodes]) {
    const known = fresh.id ? byId.get(fresh.id) : null;
    if (known && known !== at) from.insertBefore(known, at);
    const old = known || at;
    if (old && !known && old.id) { from.insertBefore(document.importNode(fresh, true), at); continue; }
    if (!old) { from.append(document.importNode(fresh, true)); continue; }
    at = morph(old, fresh).nextSibling;
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

export function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
    const fresh = document.importNode(to, true);
    from.replaceWith(fresh);
    return fresh;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return from;
  }
  attributes(from, to);
  children(from, to);
  return from;
}
