# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a program whose functions frida's Interceptor listens to, with listeners in C: by how much a
# number in memory grew between entry and exit is added up. Prints the seconds of processor time from
# the program's beginning to its exit, without what frida takes to get ready.
#
# listen.py NAMES PROGRAM [ARGUMENT...]; NAMES is a file with the names of functions, one a line.
import json
import sys
import threading

import frida

LISTENERS = r"""
#include <gum/guminterceptor.h>

extern guint64 sum;
extern volatile guint64 value;

void onEnter(GumInvocationContext *context)
{
  guint64 *start = gum_invocation_context_get_listener_invocation_data(context, 8);
  *start = value;
}

void onLeave(GumInvocationContext *context)
{
  guint64 *start = gum_invocation_context_get_listener_invocation_data(context, 8);
  sum += value - *start;
}
"""

SCRIPT = """
const sum = Memory.alloc(8);
const value = Memory.alloc(8);
const listeners = new CModule(LISTENERS, { sum, value });
const wanted = new Set(NAMES);
const seen = new Set();
const main = Process.mainModule || Process.enumerateModules()[0];
for (const symbol of main.enumerateSymbols()) {
  const place = symbol.address.toString();
  if (symbol.type === 'function' && wanted.has(symbol.name) && !seen.has(place)) {
    seen.add(place);
    try { Interceptor.attach(symbol.address, listeners); } catch (error) { }
  }
}
const libc = Process.getModuleByName('libc.so.6');
const clock = new NativeFunction(libc.getExportByName('clock'), 'long', []);
let start = 0;
Interceptor.attach(libc.getExportByName('exit'), {
  onEnter() {
    const spent = clock() - start;
    send(Number(spent) / 1e6);
    recv('go', () => { }).wait();
  }
});
rpc.exports = { begin() { start = clock(); } };
"""


def main():
    with open(sys.argv[1], encoding="utf-8") as names:
        names = [name for name in names.read().split("\n") if name]
    text = SCRIPT.replace("LISTENERS", json.dumps(LISTENERS), 1).replace("NAMES", json.dumps(names), 1)
    device = frida.get_local_device()
    pid = device.spawn(sys.argv[2:], stdio="pipe")
    session = device.attach(pid)
    ended = threading.Event()
    found = []
    session.on("detached", lambda *_: ended.set())
    script = session.create_script(text)

    def heard(message, _):
        if message["type"] == "send":
            found.append(message["payload"])
            script.post({"type": "go"})
        else:
            print(message, file=sys.stderr)

    script.on("message", heard)
    script.load()
    script.exports_sync.begin()
    device.resume(pid)
    ended.wait()
    if not found:
        sys.exit("frida saw no exit of the program")
    print(found[0])


main()
