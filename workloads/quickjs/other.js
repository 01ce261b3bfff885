class A { get b() { return JSON.stringify({c: /d+/.exec("xddy")}); } }
print(new A().b);
