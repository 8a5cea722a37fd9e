locals {
  user_data = templatefile("${path.module}/../../deploy/cloud-init/site.yml", {
    domain          = var.domain
    organiser_email = var.organiser_email
    repository      = var.repository
    release         = var.release
    data_volume     = local.data_volume
  })
  # The name under which the host sees the volume. The host waits for it.
  data_volume = var.data_gigabytes == 0 ? "" : hcloud_volume.data[0].linux_device
  labels      = var.project == "" ? {} : { project = var.project }
}

resource "hcloud_network" "inside" {
  name     = "${var.name}-inside"
  ip_range = var.network
  labels   = local.labels
}

resource "hcloud_network_subnet" "inside" {
  network_id   = hcloud_network.inside.id
  type         = "cloud"
  network_zone = "eu-central"
  ip_range     = var.network
}

# The private network passes no firewall here: only docker-compose.workers.yml publishes ports there, for hosts of this network.
resource "hcloud_firewall" "site" {
  name   = "${var.name}-site"
  labels = local.labels

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.ssh_from
  }
  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "80"
    source_ips = ["0.0.0.0/0", "::/0"]
  }
  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "443"
    source_ips = ["0.0.0.0/0", "::/0"]
  }
}

resource "hcloud_primary_ip" "site" {
  name          = "${var.name}-site"
  type          = "ipv4"
  location      = var.region
  assignee_type = "server"
  auto_delete   = false
  labels        = local.labels
}

resource "hcloud_server" "site" {
  name         = "${var.name}-site"
  location     = var.region
  server_type  = var.size
  image        = var.image
  ssh_keys     = var.ssh_keys
  firewall_ids = [hcloud_firewall.site.id]
  backups      = true
  user_data    = local.user_data
  labels       = local.labels

  public_net {
    ipv4 = hcloud_primary_ip.site.id
  }
  network {
    network_id = hcloud_network.inside.id
  }

  lifecycle {
    # The host holds the database. A new release is installed there, not by a new host.
    ignore_changes  = [user_data, image]
    prevent_destroy = true
  }
  depends_on = [hcloud_network_subnet.inside]
}

resource "hcloud_zone_rrset" "site" {
  count   = var.zone == "" ? 0 : 1
  zone    = var.zone
  name    = var.domain == var.zone ? "@" : trimsuffix(var.domain, ".${var.zone}")
  type    = "A"
  ttl     = 300
  records = [{ value = hcloud_primary_ip.site.ip_address }]
}

# Without a file system: the host makes one, on an empty volume only.
resource "hcloud_volume" "data" {
  count             = var.data_gigabytes == 0 ? 0 : 1
  name              = "${var.name}-data"
  location          = var.region
  size              = var.data_gigabytes
  delete_protection = true
  labels            = local.labels

  lifecycle {
    prevent_destroy = true
  }
}

resource "hcloud_volume_attachment" "data" {
  count     = var.data_gigabytes == 0 ? 0 : 1
  server_id = hcloud_server.site.id
  volume_id = hcloud_volume.data[0].id
  automount = false
}
