// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.LinkedHashMap;

/**
 * The state of a thread that its registers do not hold: what calls through pointers pass and give
 * back, and the thread's pointer.
 *
 * <p>Fields are named by the number of the variable in the translator: {@code v0} to {@code v31} are
 * the integer registers, then {@code HI} and {@code LO}, the bits of the floating-point registers,
 * those registers as {@code float}, pairs of them as {@code double}, the condition flags, and from {@code v150} on words of
 * the stack that are variables. A
 * function that is cut into several methods has an object of this class as its frame as well.
 */
public final class Cpu {
  public int v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11;
  public int v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23;
  public int v24, v25, v26, v27, v28, v29, v30, v31, v32, v33, v34, v35;
  public int v36, v37, v38, v39, v40, v41, v42, v43, v44, v45, v46, v47;
  public int v48, v49, v50, v51, v52, v53, v54, v55, v56, v57, v58, v59;
  public int v60, v61, v62, v63, v64, v65;
  public float v66, v67, v68, v69, v70, v71, v72, v73, v74, v75, v76, v77;
  public float v78, v79, v80, v81, v82, v83, v84, v85, v86, v87, v88, v89;
  public float v90, v91, v92, v93, v94, v95, v96, v97;
  public double v98, v99, v100, v101, v102, v103, v104, v105, v106, v107, v108, v109;
  public double v110, v111, v112, v113;
  public int v114, v115, v116, v117, v118, v119, v120, v121, v122, v123, v124, v125;
  public int v150, v151, v152, v153, v154, v155, v156, v157, v158, v159, v160, v161;
  public int v162, v163, v164, v165;

  /** What {@code rdhwr $29} gives: the pointer to the thread's own data. */
  public int thread;

  /** The floating-point control and status register. */
  public int control;

  /** The stack's pointer when the function of this frame began. */
  public int low;

  /** Instructions that may run until {@link Fuel} is asked, where they are counted. */
  public int fuel;

  /** Where the stack ends that is in use while the thread is in Java. */
  int top;

  /** How many signals it has handled. */
  int handled;

  /** How many calls of the interpreter there are within each other. */
  int interpreters;

  /** The innermost of these; none where there is none. */
  Interpreter interpreter;

  /** The jump that was caught last. */
  Jump jump;

  /** The thread's number. */
  int number;

  /** How long it has computed. No frame has any. */
  Usage usage;

  /** The files that its numbers stand for. */
  Files files;

  /** The process that it is, which has not yet executed a program of its own; null for the program's threads. */
  Processes.Child child;

  /** Where 0 is written when the thread ends, and whoever waits for it is woken; 0 for nowhere. */
  int clearAtEnd;

  /** Signals that the thread holds back. Others may look at them. No frame has any. */
  long[] blocked;

  /** Signals that it has been sent, in order, with their codes; guarded by this. No frame has any. */
  LinkedHashMap<Integer, Integer> pending;

  /** What it waits for. */
  Object waitsFor;

  /** Whether it waits for anything. */
  volatile boolean waits;

  /** Whether it was woken. */
  volatile boolean woken;

  /** Whether it has to look for signals, or for the program's end. */
  volatile boolean disturbed;

  /** Address and value of the last load that a conditional store depends on. */
  int linked = -1, linkedValue;

  boolean isBlocked(int signal) {
    return (blocked[(signal - 1) >> 6] >> (signal - 1) & 1) != 0;
  }

  /** A frame for a function in several methods. */
  public static Cpu frame() {
    return new Cpu();
  }
}
