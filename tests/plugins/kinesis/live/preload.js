// Loaded before a server that listens on every address: it listens on loopback. A signal moves its clock on by 25 hours.
"use strict";
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...more) {
  const port = typeof first === "object" ? first.port : Number(first);
  const told = more.find((each) => typeof each === "function");
  return listen.call(this, { port, host: "127.0.0.1" }, told);
};

let ahead = 0;
const Clock = Date;
global.Date = class extends Clock {
  constructor(...given) {
    super(...(given.length ? given : [Clock.now() + ahead]));
  }
  static now() {
    return Clock.now() + ahead;
  }
};
process.on("SIGUSR2", () => { ahead += 25 * 60 * 60 * 1000; });
