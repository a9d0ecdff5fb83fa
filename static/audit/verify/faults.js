// What may go wrong while a bundle is read; nothing else is thrown on purpose.

/** One part of the bundle is not what it has to be; the message says what was found and what was wanted. */
export class Fault extends Error {}

/** A check would need a field that is not shown. */
export class Hidden extends Error {}

/** An event lacks a field that its kind has, or has another type there. */
export class Lacks extends Error {}

/** The file itself cannot be read any more. */
export class Unreadable extends Error {}
