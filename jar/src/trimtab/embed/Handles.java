// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.util.ArrayList;
import java.util.List;

/**
 * Java objects that C knows by numbers. A number counts its users and is free when there is none left; a number that was
 * freed is not valid again until 2,047 other objects had its place.
 */
public final class Handles {
  private static final int PLACES = 20;
  private static final int MOST = 1 << PLACES;

  private static final class Place {
    Object object;
    int users;
    int generation = 1;
  }

  private final List<Place> places = new ArrayList<>();
  private final java.util.ArrayDeque<Integer> free = new java.util.ArrayDeque<>();
  private int count;

  /** Gives an object a number, with one user; null is 0. */
  public synchronized int put(Object object) {
    if (object == null) {
      return 0;
    }
    Integer at = free.poll();
    if (at == null) {
      at = places.size();
      if (at >= MOST) {
        throw new IllegalStateException("the program holds " + MOST + " Java objects: it must release some");
      }
      places.add(new Place());
    }
    Place place = places.get(at);
    place.object = object;
    place.users = 1;
    count++;
    return place.generation << PLACES | at;
  }

  private Place place(int handle) {
    int at = handle & MOST - 1;
    Place place = at < places.size() ? places.get(at) : null;
    if (place == null || place.object == null || place.generation != handle >>> PLACES) {
      throw new IllegalArgumentException("0x" + Integer.toHexString(handle) + " stands for no Java object, or for none any more");
    }
    return place;
  }

  /** The object of a number; null for 0. */
  public synchronized Object get(int handle) {
    return handle == 0 ? null : place(handle).object;
  }

  /** One user more. */
  public synchronized void retain(int handle) {
    if (handle != 0) {
      place(handle).users++;
    }
  }

  /** One user less. */
  public synchronized void release(int handle) {
    if (handle == 0) {
      return;
    }
    Place place = place(handle);
    if (--place.users == 0) {
      place.object = null;
      place.generation = place.generation % 2047 + 1;
      free.add(handle & MOST - 1);
      count--;
    }
  }

  /** How many objects there are. */
  public synchronized int size() {
    return count;
  }

  /** Forgets all of them. */
  public synchronized void clear() {
    places.clear();
    free.clear();
    count = 0;
  }
}
