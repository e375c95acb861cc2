"""What many sessions cost one of them, or one more."""
import statistics
import time

from peers import bare_bash, bare_bwrap, seconds

OWN = "bench/measured"  # the session that is measured


class Growth:
    """What one session costs while others are alive, beside what it did with the fewest of them. With each
    something like it is timed in turn that has to do with no session, a bare bash, a ping, a bwrap: how
    much slower or faster that has become goes into the comparison."""

    SETTLING = 0.01  # seconds in which the kernel takes apart what has ended

    def __init__(self, table, driver, berth, rounds):
        self.table, self.rounds = table, rounds
        self.created = 0
        self.works = {
            "bash_exec true": (lambda: seconds(lambda: berth.call("bash_exec", command="true")),
                               bare_bash, 1, 1.2),
            "read_file 1 KB": (lambda: seconds(lambda: berth.call("read_file", path="~/small.txt")),
                               lambda: berth.request("ping", {}), 1, 1.2),
            "pause": (lambda: self.pause(driver), bare_bash, 1, 1.2),
            "create": (lambda: self.create(driver), bare_bwrap, 3, 1.2),
            "reattach": (lambda: self.reattach(driver), bare_bash, 10, None),
        }
        self.few, self.first = 0, {}

    @staticmethod
    def pause(driver):
        took = driver.seconds("pause", OWN)
        driver.ask("resume", OWN)
        return took

    def create(self, driver):
        self.created += 1
        took = driver.seconds("make", f"bench/new-{self.created}")
        driver.ask("end", f"bench/new-{self.created}")
        time.sleep(self.SETTLING)
        return took

    @staticmethod
    def reattach(driver):
        began = time.perf_counter()
        berth = driver.serve(OWN)
        berth.call("read_file", path="~/small.txt")
        took = time.perf_counter() - began
        berth.close()
        return took

    def sample(self):
        """{name: (seconds, of the other)}, all works in turn for as long as it takes: a machine that is busy
        is so for seconds."""
        samples = {name: ([], []) for name in self.works}
        for number in range(-2, self.rounds):
            for name, (work, other, share, _) in self.works.items():
                if number % share == 0 or number < 0:
                    pair = work(), seconds(other)
                    if number >= 0:
                        for kept, each in zip(samples[name], pair):
                            kept.append(each)
        return samples

    def measure(self, others):
        samples = self.sample()
        if not self.first:
            self.few, self.first = others, samples
            return
        for name, (ours, control) in samples.items():
            before, control_before = self.first[name]
            speed = statistics.median(control) / statistics.median(control_before)
            self.table.row(f"{name} among {others} (peer: {self.few})", ours,
                           [each * speed for each in before], self.works[name][-1])
