// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** A program that was started. */
public final class Running {
  private final Machine machine;
  private final Thread thread;
  private volatile int status;
  private volatile Throwable failure;

  Running(Machine machine, Settings settings) {
    this.machine = machine;
    thread = new Thread(() -> run(settings), "program");
    thread.setDaemon(true);
    thread.start();
  }

  private void run(Settings settings) {
    try {
      status = machine.run(settings);
    } catch (Throwable thrown) {
      failure = thrown;
    }
  }

  /** Waits for its end, and gives its exit status. What a function of Java's threw that it called is thrown here. */
  public int await() throws InterruptedException {
    thread.join();
    if (failure != null) {
      throw new ProgramException("the program was ended by " + failure, failure);
    }
    return status;
  }

  /** Whether it still runs. */
  public boolean isAlive() {
    return thread.isAlive();
  }

  /**
   * Ends it, with status 137 (as by SIGKILL). {@link #await} then returns; its threads end at their next system call, or,
   * where the program was translated with {@code --metered}, wherever they are.
   */
  public void stop() {
    machine.stop();
  }
}
