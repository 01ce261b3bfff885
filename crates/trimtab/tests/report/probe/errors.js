// Runs before anything else on a page under test: collects what a console would show in red.
window.probeErrors = [];
window.addEventListener("error", (event) => probeErrors.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => probeErrors.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) =>
  probeErrors.push(`blocked by the page's own policy: ${event.violatedDirective}`));
console.error = (...words) => probeErrors.push(words.join(" "));
