/** Keeps the page's files in this browser, and says so in `place`. */
export async function keepOffline(place: HTMLElement): Promise<void> {
  if (!("serviceWorker" in navigator)) {
    place.textContent =
      "This browser keeps no pages from here: to use it without a network, serve its folder yourself.";
    return;
  }
  try {
    await navigator.serviceWorker.register(new URL("offline.js", import.meta.url));
    await navigator.serviceWorker.ready;
    place.textContent = "Kept in this browser: the page also opens without a network.";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    place.textContent = `Not kept in this browser: ${reason}`;
  }
}
