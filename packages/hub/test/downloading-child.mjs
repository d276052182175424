// Downloads a repository as a process of its own, which a test may kill.
import { download } from "@mp/hub";

const [repo, endpoint, cache] = process.argv.slice(2);
process.stdout.write(await download(repo, { endpoint, cache }));
