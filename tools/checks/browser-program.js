// @ts-nocheck: `core` is every export of every entry of the package, as it was built.
// What the check `browser` runs, in Node and in a bundle without Node.

/** Trains, saves, resumes, and tries paths that must be refused; the check compares the results. */
export async function run(core) {
  const { dynamicLossScale, mixedFloat16, reduceMean, reference, square, sub, tensor, trainer } = core;
  const { add, adamW, matMul, zeros } = core;
  const options = {
    backend: await reference(),
    params: { slope: zeros([1, 1]), offset: zeros([1]) },
    loss: ({ slope, offset }, { x, y }) => reduceMean(square(sub(add(matMul(x, slope), offset), y))),
    optimizer: adamW({ learningRate: 0.1 }),
    precision: { ...mixedFloat16(), lossScaler: dynamicLossScale({ initialScale: 2 ** 30 }) },
    onWarning: () => undefined,
  };
  const x = tensor(Float32Array.of(-1, 0, 1, 2), [4, 1]);
  const y = tensor(Float32Array.of(-4, -1, 2, 5), [4, 1]);
  const first = await trainer(options);
  const losses = [];
  // So many batches that the event loop gets turns in between.
  const { made } = await first.fit(new Array(100).fill({ x, y }), {
    onStep: ({ loss }) => void losses.push(loss),
  });
  const bytes = await first.saveBytes();
  const second = await trainer(options);
  await second.loadBytes(bytes);
  const [here, there] = [await first.step({ x, y }), await second.step({ x, y })];
  const outcome = (call) =>
    call.then(
      () => "none",
      ({ code, message }) => `${code} ${message}`,
    );
  const paths = [
    await outcome(first.save("")),
    await outcome(first.load("")),
    await outcome(core.loadParameters("", { params: options.params })),
    await outcome(first.fit([], { save: { path: "" } })),
  ];
  await Promise.all([first.dispose(), second.dispose()]);
  return { made, losses, bytes, next: [here.loss, there.loss], paths };
}
