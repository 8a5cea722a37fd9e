locals {
  user_data = templatefile("${path.module}/../../deploy/cloud-init/site.yml", {
    domain          = var.domain
    organiser_email = var.organiser_email
    repository      = var.repository
    release         = var.release
    data_volume     = local.data_volume
  })
  # The name under which the host sees the volume. The host waits for it.
  data_volume = var.data_gigabytes == 0 ? "" : "/dev/disk/by-id/scsi-0DO_Volume_${var.name}-data"
}

resource "digitalocean_vpc" "inside" {
  name     = "${var.name}-inside"
  region   = var.region
  ip_range = var.network
}

resource "digitalocean_droplet" "site" {
  name       = "${var.name}-site"
  region     = var.region
  size       = var.size
  image      = var.image
  ssh_keys   = var.ssh_keys
  vpc_uuid   = digitalocean_vpc.inside.id
  monitoring = true
  backups    = true
  tags       = ["${var.name}-site"]
  user_data  = local.user_data

  lifecycle {
    # The host holds the database. A new release is installed there, not by a new host.
    ignore_changes  = [user_data, image]
    prevent_destroy = true
  }
}

resource "digitalocean_reserved_ip" "site" {
  region     = var.region
  droplet_id = digitalocean_droplet.site.id
}

resource "digitalocean_firewall" "site" {
  name        = "${var.name}-site"
  droplet_ids = [digitalocean_droplet.site.id]

  inbound_rule {
    protocol         = "tcp"
    port_range       = "22"
    source_addresses = var.ssh_from
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "80"
    source_addresses = ["0.0.0.0/0", "::/0"]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "443"
    source_addresses = ["0.0.0.0/0", "::/0"]
  }
  # Database, Redis and registry for hosts of workers, on the private network alone.
  inbound_rule {
    protocol         = "tcp"
    port_range       = "5432"
    source_addresses = [var.network]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "6379"
    source_addresses = [var.network]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "5000"
    source_addresses = [var.network]
  }
  outbound_rule {
    protocol              = "tcp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
  outbound_rule {
    protocol              = "udp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
}

# Hosts that `manage.py autoscale` creates have this tag: nothing comes in but ssh.
resource "digitalocean_tag" "worker" {
  name = "${var.name}-worker"
}

resource "digitalocean_firewall" "worker" {
  name = "${var.name}-worker"
  tags = [digitalocean_tag.worker.id]

  inbound_rule {
    protocol         = "tcp"
    port_range       = "22"
    source_addresses = var.ssh_from
  }
  outbound_rule {
    protocol              = "tcp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
  outbound_rule {
    protocol              = "udp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
}

resource "digitalocean_record" "site" {
  count  = var.zone == "" ? 0 : 1
  domain = var.zone
  type   = "A"
  name   = var.domain == var.zone ? "@" : trimsuffix(var.domain, ".${var.zone}")
  value  = digitalocean_reserved_ip.site.ip_address
  ttl    = 300
}

# Without a file system: the host makes one, on an empty volume only.
resource "digitalocean_volume" "data" {
  count       = var.data_gigabytes == 0 ? 0 : 1
  name        = "${var.name}-data"
  region      = var.region
  size        = var.data_gigabytes
  description = "Database, files and images of ${var.domain}."

  lifecycle {
    prevent_destroy = true
  }
}

resource "digitalocean_volume_attachment" "data" {
  count      = var.data_gigabytes == 0 ? 0 : 1
  droplet_id = digitalocean_droplet.site.id
  volume_id  = digitalocean_volume.data[0].id
}

resource "digitalocean_spaces_bucket" "files" {
  count  = var.bucket == "" ? 0 : 1
  name   = var.bucket
  region = var.region
  # The site alone knows who may see which file.
  acl = "private"

  lifecycle {
    prevent_destroy = true
  }
}

resource "digitalocean_project" "arena" {
  count       = var.project == "" ? 0 : 1
  name        = var.project
  purpose     = "Web Application"
  environment = "Production"
  resources = concat(
    [digitalocean_droplet.site.urn],
    digitalocean_volume.data[*].urn,
    digitalocean_spaces_bucket.files[*].urn,
  )
}
